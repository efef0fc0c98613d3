#include "io/thread/loop.hpp"

#include "io/file/unique_fd.hpp"
#include "io/process/per_process.hpp"
#include "io/thread/at_exit.hpp"
#include "io/thread/background.hpp"
#include "io/thread/boot_timer.hpp"
#include "io/thread/condition.hpp"
#include "io/thread/turn.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::io {

namespace {

/// A connection that is closed fails its reads one turn later, and their owners post once more.
constexpr int last_turns = 8;
/// Timers that run before the sockets have a turn: thousands of waiters may be due at once, and an
/// answer that is there already may be a heartbeat's.
constexpr int due_in_a_row = 256;
/// Tasks that go on for ever may not keep the program from ending. One that blocks does: it may use
/// what has static storage, so its thread is joined before that is gone.
constexpr std::chrono::milliseconds last_moment{200};

error cannot_start(const std::string& why) {
  return {errc::unavailable, "cannot start a loop of the library: " + why};
}

}  // namespace

class loop::state final : public stoppable, public std::enable_shared_from_this<loop::state> {
 public:
  /// `fired` is a second descriptor of the timer, taken over once nothing can fail any more.
  state(boot_timer timer, unique_fd fired)
      : timer_(std::move(timer)),
        work_(asio::make_work_guard(context_)),
        fired_(context_, fired.get()) {
    (void)fired.release();
  }

  ~state() override { end(); }

  result<void> run() {
    await_timer();
    auto thread = start_thread("holdfast-loop", [this] {
      turn_.run_own();
      const held_mutex hold(end_mutex_);
      finished_ = true;
      ended_.notify_all();
    });
    if (!thread) return thread.error();
    thread_ = std::move(*thread);
    return {};
  }

  /// At the program's end what was begun has a moment to end: a task dropped here may own what
  /// owns the loop, and neither would ever be freed.
  void stop() noexcept override {
    if (!on_thread()) {
      wind_down(last_turns);
      const auto until = std::chrono::steady_clock::now() + last_moment;
      const held_mutex hold(end_mutex_);
      while (!finished_ && ended_.wait_until(end_mutex_, until)) {
      }
    }
    end();
  }

  void end() noexcept {
    halt();
    if (on_thread()) return;
    const held_mutex hold(join_mutex_);  // The program's end may end it at the same time.
    if (thread_.joinable()) thread_.join();
  }

  void halt() noexcept {
    over_ = true;
    context_.stop();
    turn_.stopped();
  }
  bool finished() const noexcept { return finished_; }
  bool over() const noexcept { return over_; }

  bool on_thread() const noexcept { return turn_.is_here(); }
  bool lend(core::parking& until) noexcept {
    if (on_library_thread()) return false;
    turn_.lend(until);
    return true;
  }
  void post(task t) { asio::post(context_, std::move(t)); }
  asio::io_context& context() noexcept { return context_; }

  std::uint64_t at(time_point when, task t) {
    const held_mutex hold(mutex_);
    const bool first = timers_.empty() || when < timers_.begin()->first.first;
    const auto id = ++last_id_;
    timers_.emplace(key{when, id}, std::move(t));
    when_.emplace(id, when);
    if (first) timer_.arm(when);
    return id;
  }

  void cancel(std::uint64_t id) noexcept {
    if (id == 0) return;
    task dropped;  // Its captures are destroyed when the mutex is free.
    const held_mutex hold(mutex_);
    const auto found = when_.find(id);
    if (found == when_.end()) return;
    dropped.swap(timers_.find({found->second, id})->second);
    timers_.erase({found->second, id});
    when_.erase(found);
  }

  std::uint64_t when_readable(int fd, task t) {
    const auto id = last_reading_.fetch_add(1) + 1;
    {
      const held_mutex hold(mutex_);
      wanted_.insert(id);
    }
    asio::post(context_, [this, id, own = unique_fd(fd), run = std::move(t)]() mutable {
      read(id, std::move(own), std::move(run));
    });
    return id;
  }

  // What another thread posts may run before what the loop's own posted earlier.
  void forget(std::uint64_t id) {
    {
      const held_mutex hold(mutex_);
      wanted_.erase(id);
    }
    asio::post(context_, [this, id] { readings_.erase(id); });
  }

 private:
  using key = std::pair<time_point, std::uint64_t>;

  // What was posted before runs first, and what that posts in turn a few times more.
  void wind_down(int turns) {
    if (turns == 0) {
      halt();
    } else {
      asio::post(context_, [this, turns] { wind_down(turns - 1); });
    }
  }

  void read(std::uint64_t id, unique_fd fd, task t) {
    {
      const held_mutex hold(mutex_);
      if (wanted_.erase(id) == 0) return;
    }
    auto [at, added] = readings_.try_emplace(id, context_, fd.get());
    (void)fd.release();
    at->second.async_wait(asio::posix::stream_descriptor::wait_read,
                          [this, id, run = std::move(t)](const asio::error_code& failed) {
                            if (failed) return;
                            readings_.erase(id);
                            run();
                          });
  }

  void await_timer() {
    fired_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [this](const asio::error_code& failed) {
                        if (failed) return;
                        run_due();
                        await_timer();
                      });
  }

  // One that is due again and again leaves the sockets their turn.
  void run_due() {
    const key until{clock::now(), newest()};
    for (int n = 0; n < due_in_a_row; ++n) {
      const task t = next_due(until);
      if (!t) return;
      t();
    }
    // What is left is due: it fires again at once, beside whatever socket is ready by then.
    const held_mutex hold(mutex_);
    arm_for_first();
  }

  /// Arming also clears what has fired, so that nothing has to be read.
  void arm_for_first() HOLDFAST_REQUIRES(mutex_) {
    timer_.arm(timers_.empty() ? time_point::max() : timers_.begin()->first.first);
  }

  std::uint64_t newest() noexcept {
    const held_mutex hold(mutex_);
    return last_id_;
  }

  // Each alone: a task may cancel another that is due with it, or give up the loop. Empty: no more.
  task next_due(const key& until) {
    const held_mutex hold(mutex_);
    const auto first = timers_.begin();
    if (over_ || first == timers_.end() || first->first.first > until.first ||
        first->first.second > until.second) {
      arm_for_first();
      return {};
    }
    task due = std::move(first->second);
    when_.erase(first->first.second);
    timers_.erase(first);
    return due;
  }

  boot_timer timer_;
  asio::io_context context_{1};
  turn turn_{context_};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::posix::stream_descriptor fired_;
  std::map<std::uint64_t, asio::posix::stream_descriptor> readings_;  // The loop's thread only.
  std::atomic<std::uint64_t> last_reading_{};
  mutex mutex_;
  std::set<std::uint64_t> wanted_ HOLDFAST_GUARDED_BY(mutex_);  // Readings that do not wait yet.
  std::uint64_t last_id_ HOLDFAST_GUARDED_BY(mutex_){};
  std::map<key, task> timers_ HOLDFAST_GUARDED_BY(mutex_);
  std::map<std::uint64_t, time_point> when_ HOLDFAST_GUARDED_BY(mutex_);
  mutex join_mutex_;
  std::thread thread_;
  mutex end_mutex_;
  condition ended_;
  std::atomic<bool> finished_{};
  std::atomic<bool> over_{};
};

// Loops whose last owner was a thread of the library, which must not wait for another. They are
// joined by the next start of a loop, or when the program ends.
struct loop::left_over {
  void add(std::shared_ptr<state> s) {
    const held_mutex hold(mutex);
    states.push_back(std::move(s));
  }
  void reap() {
    std::vector<std::shared_ptr<state>> ended;
    const held_mutex hold(mutex);
    std::erase_if(states, [&](auto& s) {
      if (!s->finished()) return false;
      ended.push_back(std::move(s));
      return true;
    });
  }
  io::mutex mutex;
  std::vector<std::shared_ptr<state>> states HOLDFAST_GUARDED_BY(mutex);
};

constinit per_process<loop::left_over> loop::left_overs;

result<std::shared_ptr<loop>> loop::start() {
  left_overs.get().reap();
  auto timer = boot_timer::make();
  if (!timer) return timer.error();
  unique_fd fired(::fcntl(timer->descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!fired) return cannot_start(std::generic_category().message(errno));
  std::shared_ptr<state> made;
  try {
    made = std::make_shared<state>(std::move(*timer), std::move(fired));
  } catch (const std::system_error& e) {  // Asio's, for what its context opens.
    return cannot_start(e.what());
  }
  if (auto running = made->run(); !running) return running.error();
  stop_at_exit(made);
  return std::shared_ptr<loop>(new loop(std::move(made)));
}

loop::loop(std::shared_ptr<state> s) noexcept
    : state_(std::move(s)), context_(&state_->context()) {}

loop::~loop() {
  state_->halt();
  if (on_library_thread()) {
    left_overs.get().add(std::move(state_));
  } else {
    state_->end();
  }
}

void loop::post(task t) { state_->post(std::move(t)); }
std::uint64_t loop::at(time_point when, task t) { return state_->at(when, std::move(t)); }
void loop::cancel(std::uint64_t timer) noexcept { state_->cancel(timer); }
std::uint64_t loop::when_readable(int fd, task t) {
  return state_->when_readable(fd, std::move(t));
}
void loop::forget(std::uint64_t reading) noexcept { state_->forget(reading); }
bool loop::lend(core::parking& until) noexcept { return state_->lend(until); }
bool loop::over() const noexcept { return state_->over(); }
asio::io_context& loop::context() noexcept { return state_->context(); }

}  // namespace holdfast::io
