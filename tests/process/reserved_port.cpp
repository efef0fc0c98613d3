#include "tests/process/reserved_port.hpp"

#include "tests/process/loopback.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>

namespace holdfast::process {

namespace {

// tests/cli takes those from 27,000 on.
constexpr int first = 15'000;
constexpr int count = 12'000;

/// One never comes twice in a process: what it knows of the server that was there would count.
std::array<std::atomic<bool>, count> given{};

bool is_free(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in to = loopback(port);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  ::close(fd);
  return bound;
}

/// An abstract socket: the kernel knows it until the process ends, however it ends.
int mark(int port) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const std::string name = "holdfast-test-port-" + std::to_string(port);
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::ranges::copy(name, to.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&to), size) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

reserved_port::reserved_port() {
  std::random_device random;
  for (int tries = 0; tries < count; ++tries) {
    number_ = first + static_cast<int>(random() % count);
    if (given[static_cast<std::size_t>(number_ - first)]) continue;
    mark_ = mark(number_);
    if (mark_ >= 0 && is_free(number_)) {
      given[static_cast<std::size_t>(number_ - first)] = true;
      return;
    }
    if (mark_ >= 0) ::close(mark_);
  }
  throw std::runtime_error("no free port");
}

reserved_port::~reserved_port() { ::close(mark_); }

}  // namespace holdfast::process
