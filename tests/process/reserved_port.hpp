#pragma once

namespace holdfast::process {

/// A TCP port of 127.0.0.1 for a server that the test starts, kills and starts again: while this
/// object lives, no other test of this network namespace gets it, whether a server listens or not.
///
/// It lies below the range from which the kernel gives ports to clients.
class reserved_port {
 public:
  reserved_port();
  reserved_port(const reserved_port&) = delete;
  reserved_port& operator=(const reserved_port&) = delete;
  ~reserved_port();

  int number() const noexcept { return number_; }

 private:
  int number_{};
  int mark_{-1};
};

}  // namespace holdfast::process
