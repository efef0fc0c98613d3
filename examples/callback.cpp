// Acquire without blocking, and hear of a loss by callback.

#include <holdfast/session.hpp>

#include <chrono>
#include <cstdio>
#include <future>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  auto session = holdfast::open(argc > 1 ? argv[1] : "local:");
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message().c_str());
    return 1;
  }

  std::promise<int> finished;
  session->acquire(holdfast::lock_name("report"), {.wait = 10s},
                   [&finished](holdfast::result<holdfast::lock> got) {
                     // This may run on a thread of the library: hand over, never block.
                     if (!got) {
                       std::fprintf(stderr, "%s\n", got.error().message().c_str());
                       return finished.set_value(1);
                     }
                     got->on_lost([](const holdfast::error& why) {
                       std::fprintf(stderr, "stop: %s\n", why.message().c_str());
                     });
                     std::printf("holding it\n");
                     finished.set_value(0);
                   });
  return finished.get_future().get();
}
