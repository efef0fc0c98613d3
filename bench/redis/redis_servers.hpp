#pragma once

#include "tests/process/child.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::bench {

/// redis-servers on free ports, in an empty directory each. Ended and removed when destroyed.
class redis_servers {
 public:
  /// `options` go to every server's command line.
  explicit redis_servers(std::size_t count, std::vector<std::string> options = {});
  redis_servers(const redis_servers&) = delete;
  redis_servers& operator=(const redis_servers&) = delete;
  ~redis_servers();

  const std::vector<int>& ports() const noexcept { return ports_; }
  /// CPU of all of them so far.
  double cpu_seconds() const;

  /// Afterwards its port refuses connections.
  void end(std::size_t i);
  void start(std::size_t i);
  /// It keeps its connections and answers nothing.
  void hang(std::size_t i);
  void go_on(std::size_t i);

 private:
  std::string directory_;
  std::vector<std::string> options_;
  std::vector<int> ports_;
  std::vector<process::child> servers_;
};

/// A port that nobody listens on.
int free_port();
/// Waits until somebody does.
void await_listener(int port);

}  // namespace holdfast::bench
