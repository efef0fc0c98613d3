// A user's program: takes a lock in the store of its first argument and shows the token. Built with
// and without exceptions. Exit codes: 0 held and released, 3 the engine was not built in, else 1.

#include <holdfast/lock.hpp>
#include <holdfast/session.hpp>
#include <holdfast/version.hpp>

#include <cstdio>
#include <utility>

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  auto session = holdfast::open(argv[1]);
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message().c_str());
    return session.error() == holdfast::errc::unsupported ? 3 : 1;
  }
  auto lock = session->try_acquire(holdfast::lock_name("installed"));
  if (!lock || !lock->check() || session->try_acquire(holdfast::lock_name("installed")).has_value())
    return 1;
  std::printf("%s: token %llu\n", holdfast::version(),
              static_cast<unsigned long long>(lock->token().value));
  return std::move(*lock).release() && session->close() ? 0 : 1;
}
