// How a program's own tests see contention and a loss, without a server and without a file.
//
//   example_testing [STORE]     memory:testing unless given

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

using namespace std::chrono_literals;

int fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

int main(int argc, char** argv) {
  const std::string url = argc > 1 ? argv[1] : "memory:testing";
  const holdfast::lock_name job("job");
  // [testing]
  auto holder = holdfast::open(url, {.ttl = 3s});
  auto other = holdfast::open(url);
  auto store = holdfast::store::open(url);
  if (!holder || !other || !store) return fail("cannot open the store");

  // Contention: two sessions are two strangers, also in one process.
  auto held = holder->acquire(job);
  if (!held) return fail("the lock was not free");
  auto refused = other->try_acquire(job);
  if (refused || refused.error() != holdfast::errc::busy) return fail("it was granted twice");

  // A loss: an operator denies the session, whose next heartbeat finds that out.
  if (!store->deny(holder->id(), "test", "to see a loss")) return fail("it was not denied");
  while (!held->lost().stop_requested()) std::this_thread::sleep_for(10ms);
  if (held->check()) return fail("a lost lock answered ok");
  // [/testing]
  std::printf("contention and loss were seen\n");
  return 0;
}
