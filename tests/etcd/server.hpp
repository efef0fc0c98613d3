#pragma once

#include "tests/process/child.hpp"
#include "tests/process/reserved_port.hpp"
#include "tests/temporary_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace holdfast::etcd_tests {

/// What all servers of a cluster are started with.
struct server_options {
  std::vector<std::string> flags{};  ///< More: "--auto-compaction-retention=1s".
  bool tls{};  ///< For clients, who need a certificate: ca.crt, client.crt, client.key.
  /// Where the first servers keep their data, one directory each; the others keep it in memory.
  std::vector<std::string> data_in{};
};

/// One etcd process of the test's own, on 127.0.0.1, on ports that it keeps through restarts. It
/// ends with this object, and when the test dies. Its data is in memory unless a directory is
/// given, for a sync to disk is what a test must not depend on.
///
/// Functions throw std::runtime_error, with the end of the server's log, when it does not do what
/// they say.
class server {
 public:
  struct ports {
    process::reserved_port clients;
    process::reserved_port peers;
  };
  server(std::string name, std::string initial_cluster, std::shared_ptr<ports> at, server_options o,
         std::string certificates, const std::string& data_parent);
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server();

  int port() const { return ports_->clients.number(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port()); }
  pid_t pid() const { return process_.pid(); }

  void launch(const std::vector<std::string>& more_flags = {});
  /// Goes on as the only member of its cluster; the others cannot reach it any more.
  void launch_alone();
  /// kill -9.
  void kill();
  /// SIGTERM, and waits until it is gone.
  void shutdown();
  /// SIGSTOP: connections stay open and nothing answers.
  void stop();
  void resume();
  /// Replaces the data by that of a snapshot, as the member of a cluster with this token. It must
  /// not run.
  void restore(const std::string& snapshot, const std::string& cluster_token);
  bool running() const { return process_.pid() != 0; }
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string peer_url() const {
    return "http://127.0.0.1:" + std::to_string(ports_->peers.number());
  }
  std::vector<std::string> arguments() const;

  const std::string name_;
  const std::string initial_cluster_;
  const std::shared_ptr<ports> ports_;
  const server_options options_;
  const std::string certificates_;
  tests::temporary_directory directory_;
  process::child process_;
};

/// A cluster of one server or several, started, and it has a leader.
class servers {
 public:
  explicit servers(std::size_t count = 1, server_options o = {});

  /// One more server, the last one, that does not vote yet.
  void add_learner();
  /// It votes from here on.
  void promote_last() const;

  std::size_t size() const { return all_.size(); }
  server& at(std::size_t i) const { return *all_.at(i); }
  /// "127.0.0.1:1,127.0.0.1:2", for a URL.
  std::string addresses() const;
  std::string url(const std::string& prefix = "t") const {
    return "etcd://" + addresses() + "/" + prefix;
  }
  /// Of a client that knows these servers only, and asks nobody else.
  std::string url_of(const std::vector<std::size_t>& members, const std::string& query) const;
  /// Of so many clients with connections of their own.
  std::vector<std::string> urls(const std::string& query, std::size_t clients) const;
  /// Where the certificates are.
  const std::string& directory() const { return directory_.path(); }

  /// etcdctl with these arguments; what it wrote. Empty when it failed.
  std::string control(const std::vector<std::string>& arguments) const;
  /// How many keys begin with this.
  std::size_t count(const std::string& prefix) const;
  /// The newest revision.
  std::int64_t revision() const;
  /// Which server leads.
  std::size_t leader() const;
  /// Makes this one lead.
  void lead(std::size_t i) const;
  /// Until each server that runs answers for the quorum.
  void await_leader() const;

 private:
  std::string control_of(const std::string& endpoints,
                         const std::vector<std::string>& arguments) const;
  void await_answer_of(const server& s, const std::vector<std::string>& question,
                       const std::string& otherwise) const;
  /// What etcdctl calls the server of this number; empty: it is no member.
  std::string member_id(std::size_t i) const;
  std::string endpoint(const server& s) const {
    return (options_.tls ? "https://" : "http://") + s.address();
  }

  tests::temporary_directory directory_;
  server_options options_;
  std::string initial_cluster_;
  std::vector<std::unique_ptr<server>> all_;
};

}  // namespace holdfast::etcd_tests
