// Hold a lock while working, and stop when it is lost.
//
//   example_acquire [STORE]     for instance: example_acquire local:/tmp/store

// [hold]
#include <holdfast/session.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

int fail(const holdfast::error& why) {
  std::fprintf(stderr, "%s\n", why.message().c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto session = holdfast::open(argc > 1 ? argv[1] : "local:");
  if (!session) return fail(session.error());

  auto lock = session->acquire(holdfast::lock_name("nightly"), {.wait = 10s});
  if (!lock) return fail(lock.error());

  for (int step = 0; step < 3; ++step) {
    // Before each step: is there time left for it?
    if (auto good = lock->check(100ms); !good) return fail(good.error());
    // Send the token with every write, so that the storage can refuse a writer that was replaced.
    std::printf("step %d with token %llu\n", step,
                static_cast<unsigned long long>(lock->token().value));
  }

  return std::move(*lock).release() ? 0 : 1;
}
// [/hold]
