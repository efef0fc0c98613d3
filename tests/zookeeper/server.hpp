#pragma once

#include "tests/process/child.hpp"
#include "tests/process/proxy.hpp"
#include "tests/process/reserved_port.hpp"
#include "tests/temporary_directory.hpp"

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace holdfast::zookeeper_tests {

/// What all servers of an ensemble are started with.
struct server_options {
  std::vector<std::string> settings{};    ///< More lines of zoo.cfg: "syncLimit=4".
  std::vector<std::string> properties{};  ///< More for Java: "-Djute.maxbuffer=4096".
};

/// One ZooKeeper process of the test's own, on 127.0.0.1, on ports that it keeps through restarts.
/// It ends with this object, and when the test dies. Its data is in memory, and never synced.
///
/// Functions throw std::runtime_error, with the end of the server's log, when it does not do what
/// they say.
class server {
 public:
  /// `members`: the lines "server.N=..." of zoo.cfg; empty for one alone.
  server(std::size_t number, const std::vector<std::string>& members, server_options o);
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server();

  int port() const { return port_.number(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  pid_t pid() const { return process_.pid(); }

  void launch();
  /// kill -9.
  void kill();
  /// SIGSTOP: connections stay open and nothing answers.
  void stop();
  void resume();
  bool running() const { return process_.pid() != 0; }
  /// What it says to a word of four letters: "srvr", "mntr". Empty: it does not answer.
  std::string ask(const std::string& word) const;
  /// It serves: alone, or with a leader.
  bool serves() const { return ask("srvr").find("Mode: ") != std::string::npos; }
  bool leads() const { return ask("srvr").find("Mode: leader") != std::string::npos; }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const process::reserved_port port_;
  const server_options options_;
  tests::temporary_directory directory_;
  process::child process_;
};

/// An ensemble of one server or several, started, and it serves.
class servers {
 public:
  explicit servers(std::size_t count = 1, server_options o = {});
  /// Three, of which the last one follows the others through a connection that can be cut.
  static std::unique_ptr<servers> with_follower();

  /// From here on nothing passes between the last one and its leader; or it does again.
  void cut_off_last(bool on);

  std::size_t size() const { return all_.size(); }
  server& at(std::size_t i) { return *all_.at(i); }
  const server& at(std::size_t i) const { return *all_.at(i); }
  /// "127.0.0.1:1,127.0.0.1:2", for a URL.
  std::string addresses() const;
  std::string url(const std::string& root = "t") const {
    return "zookeeper://" + addresses() + "/" + root;
  }
  /// Which server leads.
  std::size_t leader() const;
  /// Until each server that runs serves.
  void await() const;

 private:
  servers(std::size_t count, server_options o, bool cuttable);

  std::vector<std::unique_ptr<process::reserved_port>> peer_ports_;
  std::vector<std::unique_ptr<process::proxy>> proxies_;
  std::vector<std::unique_ptr<server>> all_;
};

}  // namespace holdfast::zookeeper_tests
