// A distributed lock in the place of a std::mutex.

#include <holdfast/mutex.hpp>

#include <cstdio>
#include <mutex>
#include <system_error>

int main(int argc, char** argv) try {
  auto session = holdfast::open(argc > 1 ? argv[1] : "local:");
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message().c_str());
    return 1;
  }

  // [mutex]
  holdfast::mutex mutex(*session, holdfast::lock_name("shared-file"));
  const std::unique_lock hold(mutex);

  // The standard's interface cannot say that a lock was lost, so ask.
  if (!mutex.held()->check()) return 1;
  // [/mutex]
  std::printf("token %llu\n", static_cast<unsigned long long>(mutex.held()->token().value));
  return 0;
} catch (const std::system_error& e) {
  // So the standard's interface tells that the lock could not be had.
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
