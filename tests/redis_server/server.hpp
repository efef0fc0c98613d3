#pragma once

#include "tests/process/child.hpp"
#include "tests/process/reserved_port.hpp"
#include "tests/redis_server/connection.hpp"
#include "tests/temporary_directory.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis_tests {

/// A redis-server process of the test's own: on 127.0.0.1, on a free port that it keeps through
/// restarts, with a directory of its own. It ends with this object, and when the test dies.
///
/// Functions throw std::runtime_error, with the end of the server's log, when the server does not
/// do what they say.
class server {
 public:
  struct options {
    bool append_only{};
    std::string fsync{"everysec"};  ///< appendfsync
    std::string users{};            ///< Lines of an ACL file; empty: only the default user.
    bool unix_socket{};
    bool tls{};  ///< The port speaks nothing else; command() and connect() are not for it.
    std::vector<std::string> settings{};  ///< More, in pairs: "--maxmemory", "10mb".
    std::vector<std::pair<std::string, std::string>> environment{};  ///< Variables more.
  };
  enum class data { keep, wipe };

  server() : server(options{}) {}
  /// Started, and it answers.
  explicit server(options o);
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server();

  int port() const { return port_->number(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  std::string socket_path() const { return directory_.path() + "/socket"; }
  const std::string& directory() const { return directory_.path(); }
  pid_t pid() const { return process_.pid(); }

  /// By one connection that is kept, and made anew after it was lost.
  answer command(const std::vector<std::string>& parts);
  /// How often it ran a command since the last CONFIG RESETSTAT.
  int calls(const std::string& name);
  /// A new connection; with a user, already authenticated.
  connection connect(const std::string& user = {}, const std::string& password = {}) const;

  /// kill -9: what was written to the kernel survives, what was not synced would not a power loss.
  void kill();
  /// SHUTDOWN, and waits until it is gone.
  void shutdown();
  /// Again on the same port, after kill() or shutdown().
  void start(data d = data::keep);
  /// SIGSTOP: connections stay open and nothing answers.
  void stop();
  void resume();
  bool running() const { return process_.pid() != 0; }

 private:
  bool launch();
  std::vector<std::string> arguments() const;
  [[noreturn]] void fail(const std::string& what) const;

  options options_;
  tests::temporary_directory directory_;
  std::optional<process::reserved_port> port_;
  process::child process_;
  std::optional<connection> own_;
};

}  // namespace holdfast::redis_tests
