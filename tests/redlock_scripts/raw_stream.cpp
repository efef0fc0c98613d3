#include "tests/redlock_scripts/raw_stream.hpp"

#include "tests/process/loopback.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

namespace holdfast::redis_tests {

namespace {

std::string encoded(const std::vector<std::string>& parts) {
  std::string bytes = "*" + std::to_string(parts.size()) + "\r\n";
  for (const std::string& p : parts) {
    bytes += "$" + std::to_string(p.size()) + "\r\n" + p + "\r\n";
  }
  return bytes;
}

}  // namespace

raw_stream::raw_stream(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in to = process::loopback(port);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    ::close(fd_);
    throw std::runtime_error("connect to port " + std::to_string(port));
  }
}

raw_stream::~raw_stream() { ::close(fd_); }

std::string raw_stream::command(const std::vector<std::string>& parts) {
  const std::string end = "the end of the answer";
  const std::string tail = "$" + std::to_string(end.size()) + "\r\n" + end + "\r\n";
  const std::string bytes = encoded(parts) + encoded({"ECHO", end});
  if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) throw std::runtime_error("send");
  std::string got;
  while (!got.ends_with(tail)) {
    char block[4096];
    const ssize_t n = ::recv(fd_, block, sizeof block, 0);
    if (n <= 0) throw std::runtime_error("the stream ended after: " + got);
    got.append(block, static_cast<std::size_t>(n));
  }
  return got.substr(0, got.size() - tail.size());
}

}  // namespace holdfast::redis_tests
