#include "io/process/word_waiter.hpp"

#include "io/thread/at_exit.hpp"
#include "io/thread/background.hpp"
#include "io/thread/futex.hpp"
#include "io/thread/mutex.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace holdfast::io {
namespace {

// A ringer that is killed between counting and waking leaves a sleeper: it looks by itself.
constexpr duration look_by_itself = std::chrono::seconds{1};
// Of one that cannot sleep on two words, and that nobody serves any more.
constexpr duration look_unserved = std::chrono::milliseconds{10};

void sleep_on(wake_word& word, std::uint32_t seen) noexcept {
  fall_asleep(word, sleeper::own);
  if (word.count.load() == seen) (void)futex_wait(address_of(word.count), seen, look_by_itself);
  wake_up(word, sleeper::own);
}

}  // namespace

// Sequentially consistent on both sides: either the sleeper sees the new count, or ring() sees it
// asleep.
void fall_asleep(wake_word& word, sleeper who) noexcept {
  word.asleep.fetch_or(static_cast<std::uint32_t>(who));
}

void wake_up(wake_word& word, sleeper who) noexcept {
  word.asleep.fetch_and(~static_cast<std::uint32_t>(who));
}

void ring(wake_word& word) noexcept {
  word.count.fetch_add(1);
  if (word.asleep.load() != 0) futex_wake(address_of(word.count), 1);
}

class word_waiter::state final : public stoppable, public std::enable_shared_from_this<state> {
 public:
  state(wake_word& word, std::function<void()> rung) : word_(word), rung_(std::move(rung)) {}

  void start() HOLDFAST_EXCLUDES(mutex_) {
    // Counted from here, not from when the thread runs: a ring in between is not missed.
    const std::uint32_t first = word_.count.load();
    const signals_blocked meanwhile;
    const held_mutex hold(mutex_);
    if (stopped_.load()) return;  // The program ends.
    // The thread's own share: it may destroy the waiter.
    thread_ = std::thread([s = shared_from_this(), first] {
      here = s.get();
      s->serve(first);
      s->serves_.store(false);
      s->serves_.notify_all();
    });
    serves_.store(true);
  }

  /// On its own thread it only begins: that may be running exit(), or the end of the waiter.
  void stop() noexcept HOLDFAST_EXCLUDES(mutex_) override {
    std::thread mine;
    {
      const held_mutex hold(mutex_);
      stopped_.store(true);
      // Once only: who comes second may find the word gone.
      if (thread_.joinable()) {
        turned();
        ring(word_);
        mine.swap(thread_);
      }
    }
    if (here == this) {
      if (mine.joinable()) mine.detach();
      return;
    }
    if (mine.joinable()) return mine.join();
    serves_.wait(true);  // Another one has begun to stop it.
  }

  bool lend(core::parking& until, const std::function<bool()>& needed) {
    std::uint32_t was = taken_by_.load();
    if (was == lent || !taken_by_.compare_exchange_strong(was, lent)) return false;
    // It may sleep on the word, where only one is woken.
    if (was == own) ring(word_);
    const bool done = serve_for(until);
    taken_by_.store(resting);
    if (!done || needed()) resume();
    return done;
  }

  void resume() noexcept {
    std::uint32_t was = resting;
    if (taken_by_.compare_exchange_strong(was, own)) turned();
  }

 private:
  /// Who has the place on the word.
  enum holder : std::uint32_t { own, lent, resting };

  void turned() noexcept {
    turns_.fetch_add(1);
    turns_.notify_all();
  }

  void serve(std::uint32_t seen) {
    const library_work inside;
    bool rested = false;
    for (;;) {
      const auto turn = turns_.load();
      if (stopped_.load()) return;
      if (taken_by_.load() != own) {
        turns_.wait(turn);
        rested = true;
        continue;
      }
      if (!rested) sleep_on(word_, seen);
      const std::uint32_t count = word_.count.load();
      if (!std::exchange(rested, false) && count == seen) continue;
      seen = count;
      if (stopped_.load()) return;
      rung_();
    }
  }

  /// True when `until` is open; false when this kernel cannot wait for it, and the own thread can.
  bool serve_for(core::parking& until) {
    const library_work inside;
    std::uint32_t seen = word_.count.load();
    rung_();
    while (until.announce_sleep()) {
      fall_asleep(word_, sleeper::lent);
      auto woken = woken_by_either::yes;
      if (word_.count.load() == seen) {
        woken = futex_wait_either(address_of(word_.count), seen, address_of(until.word),
                                  core::parking::slept_on, look_by_itself);
      }
      if (woken == woken_by_either::unsupported && stopped_.load()) {
        (void)futex_wait(address_of(until.word), core::parking::slept_on, look_unserved);
        woken = woken_by_either::timed_out;
      }
      wake_up(word_, sleeper::lent);
      until.awake();
      if (woken == woken_by_either::unsupported) return false;
      const std::uint32_t count = word_.count.load();
      if (count == seen || until.is_open()) continue;
      seen = count;
      rung_();
    }
    return true;
  }

  /// The one whose own thread this is.
  inline static thread_local const state* here = nullptr;

  wake_word& word_;
  const std::function<void()> rung_;
  std::atomic<bool> stopped_{};
  std::atomic<std::uint32_t> taken_by_{own};
  std::atomic<std::uint32_t> turns_{};  ///< Counts what the own thread rests for.
  std::atomic<bool> serves_{};
  mutex mutex_;
  std::thread thread_ HOLDFAST_GUARDED_BY(mutex_);
};

word_waiter::word_waiter(wake_word& word, std::function<void()> rung)
    : state_(std::make_shared<state>(word, std::move(rung))) {
  stop_at_exit(state_);
  state_->start();
}

word_waiter::~word_waiter() { state_->stop(); }

bool word_waiter::lend(core::parking& until, const std::function<bool()>& needed) {
  const auto s = state_;
  return s->lend(until, needed);
}

void word_waiter::resume() noexcept { state_->resume(); }

}  // namespace holdfast::io
