#include "io/word_waiter.hpp"

#include "io/futex.hpp"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace holdfast::io {
namespace {

// A ringer that is killed between counting and waking leaves a sleeper: it looks by itself.
constexpr duration look_by_itself = std::chrono::seconds{1};

void sleep_on(wake_word& word, std::uint32_t seen) noexcept {
  // Sequentially consistent on both sides: either we see the new count, or ring() sees us asleep.
  word.asleep.store(1);
  if (word.count.load() == seen) (void)futex_wait(address_of(word.count), seen, look_by_itself);
  word.asleep.store(0);
}

std::thread start_without_signals(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made;
  try {
    made = std::thread(std::move(body));
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

}  // namespace

void ring(wake_word& word) noexcept {
  word.count.fetch_add(1);
  if (word.asleep.load() != 0) futex_wake(address_of(word.count), 1);
}

struct word_waiter::state {
  wake_word& word;
  std::function<void()> rung;
  // Outlives this object when the thread itself destroys it.
  std::shared_ptr<std::atomic<bool>> stop{std::make_shared<std::atomic<bool>>(false)};
  std::thread thread{};

  void start() {
    // Counted from here, not from when the thread runs: a ring in between is not missed.
    const std::uint32_t first = word.count.load();
    thread = start_without_signals([this, seen = first, over = stop, call = rung]() mutable {
      while (!over->load()) {
        sleep_on(word, seen);
        const std::uint32_t count = word.count.load();
        if (count == seen || over->load()) continue;
        seen = count;
        call();
        if (over->load()) return;  // `this` may be gone.
      }
    });
  }
};

word_waiter::word_waiter(wake_word& word, std::function<void()> rung)
    : state_(new state{word, std::move(rung)}) {
  state_->start();
}

word_waiter::~word_waiter() {
  if (!state_) return;
  state_->stop->store(true);
  if (state_->thread.get_id() == std::this_thread::get_id()) {
    state_->thread.detach();
    return;
  }
  ring(state_->word);
  state_->thread.join();
}

void word_waiter::abandon() noexcept { (void)state_.release(); }

}  // namespace holdfast::io
