#include "bench/redlock/delay_proxy.hpp"

#include "bench/redis/redis_servers.hpp"
#include "tests/process/loopback.hpp"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <map>
#include <string>

namespace holdfast::bench {

namespace {

using std::chrono::nanoseconds;

nanoseconds now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return std::chrono::seconds{t.tv_sec} + nanoseconds{t.tv_nsec};
}

class forwarder {
 public:
  explicit forwarder(nanoseconds delay) : delay_(delay) {}

  void listen(int port, int to) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in a = process::loopback(port);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) ::_exit(1);
    ::listen(fd, 16);
    listeners_[fd] = to;
    wait_for(fd);
  }

  void run() {
    for (;;) {
      std::array<epoll_event, 64> ready{};
      const int n = wait(ready);
      const nanoseconds t = now();
      for (int i = 0; i < n; ++i) take(ready.at(static_cast<std::size_t>(i)).data.fd, t);
      deliver();
    }
  }

 private:
  struct parcel {
    nanoseconds due{};
    int to{};
    std::string bytes{};  ///< Empty: the other side has ended.
  };

  void wait_for(int fd) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.fd = fd;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &wanted);
  }
  int wait(std::array<epoll_event, 64>& ready) {
    if (parcels_.empty()) return ::epoll_wait(epoll_, ready.data(), 64, -1);
    const auto left = std::max(nanoseconds{0}, parcels_.front().due - now());
    // One of the system: the C library of Debian 12 has no name for it on every kernel.
    const timespec limit{.tv_sec = left.count() / 1'000'000'000,
                         .tv_nsec = left.count() % 1'000'000'000};
    return static_cast<int>(
        ::syscall(SYS_epoll_pwait2, epoll_, ready.data(), 64, &limit, nullptr, 0));
  }
  void take(int fd, nanoseconds t) {
    if (const auto found = listeners_.find(fd); found != listeners_.end()) {
      return join(::accept(fd, nullptr, nullptr), found->second);
    }
    std::array<char, 65'536> bytes{};
    const auto count = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0) return;
    if (count == 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    parcels_.push_back(
        {t + delay_, others_[fd], std::string(bytes.data(), static_cast<std::size_t>(count))});
  }
  void join(int client, int port) {
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in a = process::loopback(port);
    ::connect(server, reinterpret_cast<const sockaddr*>(&a), sizeof a);
    const int on = 1;
    for (const int fd : {client, server}) {
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      wait_for(fd);
    }
    others_[client] = server;
    others_[server] = client;
  }
  void deliver() {
    while (!parcels_.empty() && parcels_.front().due <= now()) {
      const parcel& p = parcels_.front();
      if (p.bytes.empty()) {
        ::shutdown(p.to, SHUT_WR);
      } else if (::send(p.to, p.bytes.data(), p.bytes.size(), MSG_NOSIGNAL) < 0) {
        ::shutdown(p.to, SHUT_RDWR);
      }
      parcels_.pop_front();
    }
  }

  const nanoseconds delay_;
  const int epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  std::map<int, int> listeners_;
  std::map<int, int> others_;
  std::deque<parcel> parcels_;  // In order of time: the delay is the same for all.
};

}  // namespace

delay_proxy::delay_proxy(const std::vector<int>& servers, nanoseconds each_way) {
  for (std::size_t i = 0; i < servers.size(); ++i) ports_.push_back(free_port());
  process_ = process::child::fork([&] {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    forwarder f(each_way);
    for (std::size_t i = 0; i < servers.size(); ++i) f.listen(ports_[i], servers[i]);
    f.run();
    return 0;
  });
  for (const int p : ports_) await_listener(p);
}

}  // namespace holdfast::bench
