#include "io/thread/at_exit.hpp"

#include "io/process/per_process.hpp"
#include "io/thread/mutex.hpp"

#include <utility>
#include <vector>

namespace holdfast::io {

namespace {

struct exit_list {
  io::mutex mutex;
  std::vector<std::weak_ptr<stoppable>> members HOLDFAST_GUARDED_BY(mutex);
};

constinit per_process<exit_list> lists;

struct at_end {
  ~at_end() {
    auto& list = lists.get();
    std::vector<std::weak_ptr<stoppable>> members;
    {
      const held_mutex hold(list.mutex);
      members.swap(list.members);
    }
    for (auto it = members.rbegin(); it != members.rend(); ++it) {
      if (const auto one = it->lock()) one->stop();
    }
  }
};

}  // namespace

void stop_at_exit(std::weak_ptr<stoppable> what) {
  // What has static storage and was made before this is destroyed after it, as C++ has it: threads
  // end before what they may use.
  static const at_end runs_at_exit;
  auto& list = lists.get();
  const held_mutex hold(list.mutex);
  std::erase_if(list.members, [](const auto& w) { return w.expired(); });
  list.members.push_back(std::move(what));
}

}  // namespace holdfast::io
