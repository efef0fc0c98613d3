#pragma once

#include <unistd.h>

#include <utility>

namespace holdfast::io {

/// Owns a file descriptor and closes it.
///
/// Closing **any** descriptor of a file drops every POSIX record lock that the process has on that
/// file (fcntl(2)); see process_slot for the one place where this matters.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    unique_fd old(std::exchange(fd_, std::exchange(other.fd_, -1)));
    return *this;
  }
  ~unique_fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_{-1};
};

}  // namespace holdfast::io
