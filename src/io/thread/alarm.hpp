#pragma once

#include "io/thread/at_exit.hpp"
#include "io/thread/boot_timer.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::io {

/// The thread that tells of losses. It never does I/O, so a store that hangs cannot delay it, and
/// it holds no mutex while it calls out.
///
/// One per process. Thread safety: every function, from any thread.
class alarm final : public stoppable {
 public:
  /// Something with a deadline. A later one is found when the earlier has come, also when that was
  /// told already; an earlier one only when moved() says so.
  class deadline_holder {
   public:
    deadline_holder() = default;
    deadline_holder(const deadline_holder&) = delete;
    deadline_holder& operator=(const deadline_holder&) = delete;
    virtual ~deadline_holder() = default;
    /// The deadline as it is now; time_point::max() when there is no deadline any more.
    virtual time_point deadline() const noexcept = 0;
    /// The deadline has passed. Called once for each, on the alarm's thread. False: it had not, for
    /// it was extended in that moment; then the deadline is watched on, whatever it is by now.
    virtual bool passed() noexcept = 0;
  };
  using job = std::function<void()>;

  /// This process's alarm, its thread running.
  static result<std::shared_ptr<alarm>> of_process();

  ~alarm() override;

  /// Watches `what` until its deadline passes or it is unwatched.
  std::uint64_t watch(std::weak_ptr<deadline_holder> what, time_point deadline);
  void unwatch(std::uint64_t id) noexcept;
  /// Its deadline may have become earlier.
  void moved(std::uint64_t id) noexcept;

  /// Runs `j` on the alarm's thread, in order of posting. False when the thread has been stopped.
  bool post(job j);
  /// Runs `j` after all that was posted and waits until it is done, at most `limit`; on the alarm's
  /// own thread, or when that has been stopped, it runs at once.
  void run(job j, duration limit);

  void stop() noexcept override;

 private:
  struct entry {
    std::weak_ptr<deadline_holder> what;
    time_point when{};
  };

  // Held until the mutex is free: the last owner's destructor calls unwatch().
  struct looked {
    struct due_one {
      std::uint64_t id{};
      std::shared_ptr<deadline_holder> what;
      bool over{};  ///< passed() said so.
    };
    std::vector<due_one> due;
    std::vector<std::shared_ptr<deadline_holder>> kept;
  };

  explicit alarm(boot_timer timer) : timer_(std::move(timer)) {}
  void loop() noexcept;
  /// At most `batch` of them: the mutex is not held for long.
  looked take_due(time_point now) HOLDFAST_REQUIRES(mutex_);
  /// Those that are due; one that was extended in that moment is watched on.
  void tell(looked& those) noexcept HOLDFAST_EXCLUDES(mutex_);
  /// When the thread has something to do by itself.
  time_point next_look() const noexcept HOLDFAST_REQUIRES(mutex_);
  /// Nothing where it is about to wake anyway.
  void wake_at(time_point when) noexcept HOLDFAST_REQUIRES(mutex_);

  boot_timer timer_;
  mutex mutex_;
  bool stopping_ HOLDFAST_GUARDED_BY(mutex_){};
  std::uint64_t last_id_ HOLDFAST_GUARDED_BY(mutex_){};
  std::map<std::uint64_t, entry> entries_ HOLDFAST_GUARDED_BY(mutex_);
  std::set<std::pair<time_point, std::uint64_t>> order_ HOLDFAST_GUARDED_BY(mutex_);
  std::vector<job> jobs_ HOLDFAST_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::io
