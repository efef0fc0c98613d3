#pragma once

#include "tests/process/child.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::bench {

/// Five redis-servers on free ports, in an empty directory each. Ended and removed when destroyed.
class redlock_servers {
 public:
  static constexpr std::size_t count = 5;

  /// `options` go to every server's command line.
  explicit redlock_servers(std::vector<std::string> options = {});
  redlock_servers(const redlock_servers&) = delete;
  redlock_servers& operator=(const redlock_servers&) = delete;
  ~redlock_servers();

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

/// `redlock://127.0.0.1:P1,...?QUERY`
std::string url_of(const std::vector<int>& ports, const std::string& query);

/// A port that nobody listens on.
int free_port();
/// Waits until somebody does.
void await_listener(int port);

}  // namespace holdfast::bench
