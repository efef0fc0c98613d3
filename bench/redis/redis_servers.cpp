#include "bench/redis/redis_servers.hpp"

#include "io/file/unique_fd.hpp"
#include "tests/process/loopback.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <time.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace holdfast::bench {

int free_port() {
  const io::unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in a = process::loopback(0);
  socklen_t size = sizeof a;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&a), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&a), &size) != 0) {
    throw std::runtime_error("no free port");
  }
  return ntohs(a.sin_port);
}

void await_listener(int port) {
  const bool there = process::eventually([port] {
    const io::unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in a = process::loopback(port);
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0;
  });
  if (!there) throw std::runtime_error("nobody listens on port " + std::to_string(port));
}

redis_servers::redis_servers(std::size_t count, std::vector<std::string> options)
    : directory_((std::filesystem::temp_directory_path() / "holdfast-bench-XXXXXX").string()),
      options_(std::move(options)),
      servers_(count) {
  if (::mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  for (std::size_t i = 0; i < count; ++i) {
    ports_.push_back(free_port());
    start(i);
  }
}

redis_servers::~redis_servers() {
  for (std::size_t i = 0; i < servers_.size(); ++i) end(i);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

double redis_servers::cpu_seconds() const {
  double all = 0;
  for (const auto& s : servers_) {
    clockid_t clock{};
    timespec t{};
    if (::clock_getcpuclockid(s.pid(), &clock) != 0 || ::clock_gettime(clock, &t) != 0) continue;
    all += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
  }
  return all;
}

void redis_servers::end(std::size_t i) {
  go_on(i);
  servers_[i].end();
}

void redis_servers::start(std::size_t i) {
  const std::string own = directory_ + "/" + std::to_string(i);
  std::filesystem::create_directories(own);
  std::vector<std::string> line{
      "redis-server", "--port", std::to_string(ports_[i]), "--bind", "127.0.0.1", "--dir", own,
      "--save",       ""};
  line.insert(line.end(), options_.begin(), options_.end());
  servers_[i] = process::child::execute(line);
  await_listener(ports_[i]);
}

void redis_servers::hang(std::size_t i) { servers_[i].signal(SIGSTOP); }
void redis_servers::go_on(std::size_t i) { servers_[i].signal(SIGCONT); }

}  // namespace holdfast::bench
