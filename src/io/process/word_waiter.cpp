#include "io/process/word_waiter.hpp"

#include "io/thread/background.hpp"
#include "io/thread/futex.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace holdfast::io {
namespace {

// A ringer that is killed between counting and waking leaves a sleeper: it looks by itself.
constexpr duration look_by_itself = std::chrono::seconds{1};

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

struct word_waiter::state {
  /// Who has the place on the word.
  enum holder : std::uint32_t { own, lent, resting };

  wake_word& word;
  std::function<void()> rung;
  std::atomic<bool> stop{};
  std::atomic<std::uint32_t> taken_by{own};
  std::thread thread{};

  void serve(std::uint32_t seen) {
    const library_work here;
    while (!stop.load()) {
      if (const auto now = taken_by.load(); now != own) {
        taken_by.wait(now);
        if (taken_by.load() != own) continue;
        seen = word.count.load();
      } else {
        sleep_on(word, seen);
        const std::uint32_t count = word.count.load();
        if (count == seen) continue;
        seen = count;
      }
      if (stop.load()) return;
      rung();
    }
  }

  /// True when `until` is open; false when this kernel cannot wait for it.
  bool serve_for(core::parking& until) {
    const library_work here;
    std::uint32_t seen = word.count.load();
    rung();
    while (until.announce_sleep()) {
      fall_asleep(word, sleeper::lent);
      auto woken = woken_by_either::yes;
      if (word.count.load() == seen) {
        woken = futex_wait_either(address_of(word.count), seen, address_of(until.word),
                                  core::parking::slept_on, look_by_itself);
      }
      wake_up(word, sleeper::lent);
      until.awake();
      if (woken == woken_by_either::unsupported) return false;
      const std::uint32_t count = word.count.load();
      if (count == seen || until.is_open()) continue;
      seen = count;
      rung();
    }
    return true;
  }
};

word_waiter::word_waiter(wake_word& word, std::function<void()> rung)
    : state_(new state{word, std::move(rung)}) {
  // Counted from here, not from when the thread runs: a ring in between is not missed.
  const std::uint32_t first = word.count.load();
  // The thread's own share: it may destroy this object.
  const signals_blocked meanwhile;
  state_->thread = std::thread([s = state_, first] { s->serve(first); });
}

word_waiter::~word_waiter() {
  if (!state_) return;
  state_->stop.store(true);
  if (state_->thread.get_id() == std::this_thread::get_id()) {
    state_->thread.detach();
    return;
  }
  state_->taken_by.store(state::own);
  state_->taken_by.notify_all();
  ring(state_->word);
  state_->thread.join();
}

bool word_waiter::lend(core::parking& until, const std::function<bool()>& needed) {
  const auto s = state_;
  std::uint32_t was = s->taken_by.load();
  if (was == state::lent || !s->taken_by.compare_exchange_strong(was, state::lent)) return false;
  // It may sleep on the word, where only one is woken.
  if (was == state::own) ring(s->word);
  const bool done = s->serve_for(until);
  s->taken_by.store(state::resting);
  if (!done || needed()) resume();
  return done;
}

void word_waiter::resume() noexcept {
  std::uint32_t was = state::resting;
  if (state_->taken_by.compare_exchange_strong(was, state::own)) state_->taken_by.notify_all();
}

}  // namespace holdfast::io
