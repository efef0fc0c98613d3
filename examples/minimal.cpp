// The shortest program that holds a lock, with exceptions for failures.
//
//   example_minimal [STORE]

#include <holdfast/session.hpp>

#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

using namespace std::chrono_literals;

static void work(int step, holdfast::token token) {
  std::printf("step %d with token %llu\n", step, static_cast<unsigned long long>(token.value));
}

int main(int argc, char** argv) try {
  const char* url = argc > 1 ? argv[1] : "local:";
  // [minimal]
  auto session = holdfast::open(url).value();  // value() throws where there is an error instead.
  auto lock = session.acquire(holdfast::lock_name("nightly"), {.wait = 10s}).value();
  for (int step = 0; step < 3; ++step) {
    lock.check(100ms).value();  // Before each step: is there time left for it?
    work(step, lock.token());   // The storage refuses a token older than the newest it has seen.
  }
  std::move(lock).release().value();
  // [/minimal]
  return 0;
} catch (const std::system_error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
