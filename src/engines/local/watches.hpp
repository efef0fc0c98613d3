#pragma once

#include "core/engine.hpp"
#include "io/process/word_waiter.hpp"
#include "io/thread/condition.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::engines::local {

class environment;

/// The armed watches of one process on one store, and the one thread that sleeps for all of them
/// on the process's wake word. After a ring it reads once which targets are gone and calls those
/// watchers, outside every mutex.
///
/// Thread safety: every function, from any thread.
class watches : public std::enable_shared_from_this<watches> {
 public:
  explicit watches(io::wake_word& word);

  /// Arms one; starts the thread at the first, or nothing when there can be no thread. The thread
  /// looks once right away, so that a change before the arming is not missed.
  std::unique_ptr<core::watch_handle> arm(const std::shared_ptr<environment>& store,
                                          const core::watch_request& what,
                                          std::function<void()> notify);
  /// The caller waits for `until`; its thread sleeps on the word in place of the one that does so
  /// for all. False, at once, when it cannot: then it waits elsewhere.
  bool lend(const std::shared_ptr<environment>& store, core::parking& until);
  /// Ends the thread; waits for it unless called by it.
  void stop() noexcept;

 private:
  class handle;
  struct armed {
    core::watch_request what;
    std::function<void()> notify;
    bool fired{};
  };

  /// Null when this process may have no more threads.
  std::shared_ptr<io::word_waiter> started(const std::shared_ptr<environment>& store)
      HOLDFAST_REQUIRES(mutex_);
  /// Whoever was woken: calls those whose targets are gone.
  void look(environment& store) HOLDFAST_EXCLUDES(mutex_);
  /// Once, without the mutex.
  void call(std::uint64_t id) HOLDFAST_EXCLUDES(mutex_);
  /// Afterwards notify is not called; waits for a call that runs, unless it runs on this thread.
  void disarm(std::uint64_t id) noexcept HOLDFAST_EXCLUDES(mutex_);

  io::wake_word& word_;
  io::mutex mutex_;
  io::condition idle_;
  std::map<std::uint64_t, armed> armed_ HOLDFAST_GUARDED_BY(mutex_);
  std::uint64_t last_id_ HOLDFAST_GUARDED_BY(mutex_){};
  /// The watches whose notify is being called, and the threads that do.
  std::map<std::uint64_t, std::thread::id> running_ HOLDFAST_GUARDED_BY(mutex_);
  std::shared_ptr<io::word_waiter> waiter_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::local
