// Take several locks together: all of them or none, and never a deadlock.

#include <holdfast/session.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  auto session = holdfast::open(argc > 1 ? argv[1] : "local:");
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message().c_str());
    return 1;
  }

  // [multi]
  auto accounts = session->acquire_all(
      {holdfast::lock_name("account/7"), holdfast::lock_name("account/3")}, {.wait = 10s});
  if (!accounts) {
    std::fprintf(stderr, "%s\n", accounts.error().message().c_str());
    return 1;
  }
  for (const auto& lock : *accounts) {
    if (const auto held = lock.check(); !held) {  // Before each step: it may be lost meanwhile.
      std::fprintf(stderr, "%s\n", held.error().message().c_str());
      return 1;
    }
    std::printf("%s with token %llu\n", lock.name().printable().c_str(),
                static_cast<unsigned long long>(lock.token().value));
  }
  // [/multi]
  return 0;  // Each lock's destructor gives it back.
}
