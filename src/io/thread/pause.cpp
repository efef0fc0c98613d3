#include "io/thread/pause.hpp"

#include "io/thread/mutex.hpp"

#include <condition_variable>
#include <utility>

namespace holdfast::io {

bool pause(duration length, std::stop_token stop) {
  io::mutex mutex;
  std::condition_variable_any never;
  const held_mutex hold(mutex);
  never.wait_for(mutex, stop, length, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace holdfast::io
