#include "io/thread/pause.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace holdfast::io {

bool pause(duration length, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock hold(mutex);
  never.wait_for(hold, stop, length, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace holdfast::io
