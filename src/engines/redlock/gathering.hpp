#pragma once

#include "engines/redlock/cluster.hpp"
#include "io/thread/mutex.hpp"

#include <functional>
#include <memory>
#include <string>

namespace holdfast::engines::redlock {

/// One question to several nodes at once, and their answers until there are enough.
///
/// Thread safety: the two functions are called one at a time, on the loop's thread or on that of
/// ask(), not under a mutex that others take.
class gathering final {
 public:
  struct question {
    node_set to{};
    duration limit{};
    std::function<std::string(node_index)> bytes{};
    /// One answer; true when no further one is needed.
    std::function<bool(node_index, const io::redis_answer&)> each{};
    /// Once: enough, or all of them have answered or are silent for too long.
    std::function<void()> done{};
  };

  static void ask(std::shared_ptr<cluster> c, question q);

  explicit gathering(question q) : question_(std::move(q)), pending_(question_.to) {}

 private:
  void answered(node_index i, const io::redis_answer& a);

  io::mutex mutex_;
  question question_ HOLDFAST_GUARDED_BY(mutex_);
  node_set pending_ HOLDFAST_GUARDED_BY(mutex_);
  bool over_ HOLDFAST_GUARDED_BY(mutex_){};
};

}  // namespace holdfast::engines::redlock
