// A service that works under a lock for as long as it runs, and begins anew after each loss; and an
// operator who looks at the store and ends the session that holds the lock.
//
//   example_service [STORE]     memory:service unless given

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

const holdfast::lock_name shard("shard/7");
std::atomic<int> sessions{0};
std::atomic<int> steps{0};

void step(const holdfast::token&) { ++steps; }  // What has to be done under the lock.

// One session, from its opening to its end.
holdfast::result<void> serve_once(const std::string& url, const std::stop_token& quit) {
  auto session = holdfast::open(url, {.ttl = 3s});
  if (!session) return session.error();
  auto lock = session->acquire(shard, {.wait = holdfast::forever, .stop = quit});
  if (!lock) return lock.error();
  ++sessions;
  while (!quit.stop_requested()) {
    const auto good = lock->check(100ms);
    if (good) {
      step(lock->token());
    } else if (good.error() != holdfast::errc::expiring) {
      return good.error();
    }
    std::this_thread::sleep_for(10ms);
  }
  return std::move(*lock).release();
}

// A session that has ended never comes back: the program opens the next one.
holdfast::result<void> serve(const std::string& url, const std::stop_token& quit) {
  for (;;) {
    auto ended = serve_once(url, quit);
    if (quit.stop_requested()) return {};
    if (!ended) {
      std::fprintf(stderr, "%s\n", ended.error().message().c_str());
      const auto code = ended.error().code();
      const bool passes = code == holdfast::errc::lost || code == holdfast::errc::denied ||
                          code == holdfast::errc::unavailable ||
                          code == holdfast::errc::outcome_unknown;
      if (!passes || ended.error().needs_operator()) return ended;
    }
    std::this_thread::sleep_for(200ms);  // A server that is away is not asked without a pause.
  }
}

// Prints who holds and who awaits each lock, and ends the sessions that hold `name`.
holdfast::result<void> end_holders(holdfast::store& store, const holdfast::lock_name& name) {
  const auto all = store.list();
  if (!all) return all.error();
  for (const auto& lock : all->locks) {
    for (const auto& entry : lock.entries) {
      const auto* session = all->find(entry.session);
      std::printf("%s: %s %s, %s\n", lock.name.printable().c_str(), entry.mode.str().c_str(),
                  entry.granted ? "held" : "awaited",
                  session == nullptr ? "by nobody any more" : session->owner.program.c_str());
    }
  }
  const auto* lock = all->find(name);
  if (lock == nullptr) return {};  // Nobody has it.
  for (const auto& entry : lock->entries) {
    if (!entry.granted) continue;
    // Its holder hears of it, and stops, before the lock can pass to another.
    const auto done = store.deny(entry.session, "operator", "to move the shard");
    if (!done) return done.error();
  }
  return {};
}

int fail(const holdfast::error& why) {
  std::fprintf(stderr, "%s\n", why.message().c_str());
  return 1;
}

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:service";
  auto store = holdfast::store::open(url);
  if (!store) return fail(store.error());

  std::atomic<bool> failed{false};
  std::jthread service([&](const std::stop_token& quit) {
    if (auto served = serve(url, quit); !served) failed = true;
  });
  const auto wait_for_a_step = [&](int session) {
    const int before = steps;
    while (!failed && (sessions < session || steps == before)) std::this_thread::sleep_for(10ms);
  };
  wait_for_a_step(1);
  if (auto ended = end_holders(*store, shard); !ended) return fail(ended.error());
  wait_for_a_step(2);
  service.request_stop();
  service.join();
  std::printf("%d sessions worked\n", sessions.load());
  return failed ? 1 : 0;
}
