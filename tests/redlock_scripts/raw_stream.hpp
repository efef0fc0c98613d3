#pragma once

#include <string>
#include <vector>

namespace holdfast::redis_tests {

/// A connection that shows the very bytes: Debian's hiredis cannot read RESP3.
class raw_stream {
 public:
  explicit raw_stream(int port);
  raw_stream(const raw_stream&) = delete;
  raw_stream& operator=(const raw_stream&) = delete;
  ~raw_stream();

  /// Sends one command and returns the bytes of its answer: all that comes before the answer of an
  /// ECHO behind it.
  std::string command(const std::vector<std::string>& parts);

 private:
  int fd_{-1};
};

}  // namespace holdfast::redis_tests
