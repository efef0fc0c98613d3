// Acquire without blocking, and hear of a loss by callback.

#include <holdfast/session.hpp>

#include <chrono>
#include <cstdio>
#include <future>
#include <utility>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  auto session = holdfast::open(argc > 1 ? argv[1] : "local:");
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message().c_str());
    return 1;
  }

  // [callback]
  std::promise<holdfast::result<holdfast::lock>> arrived;
  session->acquire(holdfast::lock_name("report"), {.wait = 10s},
                   [&arrived](holdfast::result<holdfast::lock> got) {
                     // This may run on a thread of the library: hand over, never block. The lock
                     // is given back where `got` ends, so it moves to whoever does the work.
                     arrived.set_value(std::move(got));
                   });

  auto lock = arrived.get_future().get();
  if (!lock) {
    std::fprintf(stderr, "%s\n", lock.error().message().c_str());
    return 1;
  }
  lock->on_lost([](const holdfast::error& why) {
    std::fprintf(stderr, "stop: %s\n", why.message().c_str());
  });
  // [/callback]
  std::printf("holding it\n");
  return std::move(*lock).release() ? 0 : 1;
}
