#pragma once

#include "io/node_address.hpp"
#include "tests/temporary_directory.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::io {

/// A port of 127.0.0.1 on which nobody listens.
inline int unused_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ::bind(fd, reinterpret_cast<const sockaddr*>(&at), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  ::close(fd);
  return ntohs(at.sin_port);
}

/// A redis-server of the test's own, on a port that it keeps through restarts.
class redis_server {
 public:
  explicit redis_server(std::vector<std::string> settings = {}, bool tls = false)
      : settings_(std::move(settings)), tls_(tls), port_(unused_port()) {
    start();
  }
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;
  ~redis_server() { kill(); }

  void start() {
    const auto port = std::to_string(port_);
    std::vector<std::string> all{
        "redis-server", "--bind", "127.0.0.1",       "--save",       "",           "--appendonly",
        "no",           "--dir",  directory_.path(), "--unixsocket", socket_path()};
    const std::vector<std::string> ports =
        tls_ ? std::vector<std::string>{"--port", "0", "--tls-port", port}
             : std::vector<std::string>{"--port", port};
    all.insert(all.end(), ports.begin(), ports.end());
    all.insert(all.end(), settings_.begin(), settings_.end());
    std::vector<char*> argv;
    for (auto& a : all) argv.push_back(a.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(::open("/dev/null", O_RDWR), 1);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    await_listener();
  }

  void signal(int number) { ::kill(pid_, number); }
  void kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  node_address address() const {
    return {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(port_), .path = {}};
  }
  std::string socket_path() const { return directory_.path() + "/socket"; }

 private:
  void await_listener() {
    for (int tries = 0; tries < 1000; ++tries) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(static_cast<std::uint16_t>(port_));
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const bool is_up = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
      ::close(fd);
      if (is_up) return;
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    ADD_FAILURE() << "redis-server does not listen on port " << port_;
  }

  tests::temporary_directory directory_;
  std::vector<std::string> settings_;
  bool tls_;
  int port_;
  pid_t pid_{};
};

}  // namespace holdfast::io
