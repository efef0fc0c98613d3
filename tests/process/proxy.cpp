#include "tests/process/proxy.hpp"

#include "tests/process/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

namespace holdfast::process {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

void send_soon(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool send_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(fd, bytes, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

struct proxy::link {
  int client{-1};
  int server{-1};
  bool lost{};
  std::deque<std::pair<clock::time_point, std::string>> replies{};

  link(int c, int s) : client(c), server(s) {}
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link() {
    ::close(client);
    ::close(server);
  }
};

proxy::proxy(int server_port) : server_port_(server_port) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in a = loopback(0);
  socklen_t size = sizeof a;
  const bool bound = ::bind(listener_, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0 &&
                     ::listen(listener_, 64) == 0 &&
                     ::getsockname(listener_, reinterpret_cast<sockaddr*>(&a), &size) == 0;
  if (!bound) throw std::runtime_error("proxy: cannot listen");
  port_ = ntohs(a.sin_port);
  thread_ = std::thread([this] { run(); });
}

proxy::~proxy() {
  over_ = true;
  thread_.join();
  ::close(listener_);
}

/// To the server; -1 when it is not there.
int proxy::connected() const {
  const int to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in a = loopback(server_port_);
  send_soon(to);
  if (::connect(to, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) return to;
  ::close(to);
  return -1;
}

void proxy::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  send_soon(client);
  const int to = connected();
  if (to >= 0) {
    links_.emplace_back(client, to);
  } else {
    ::close(client);
  }
}

void proxy::carry_all() {
  for (link& l : links_) {
    ::close(l.server);
    l.server = connected();
  }
}

/// False when the connection is over.
bool proxy::take(link& l, int from) {
  std::array<char, 16'384> bytes;
  const ssize_t n = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  const auto size = static_cast<std::size_t>(n);
  if (from == l.client) return send_all(l.server, bytes.data(), size);
  l.replies.emplace_back(clock::now() + milliseconds(delay_), std::string(bytes.data(), size));
  return true;
}

bool proxy::deliver(link& l) {
  while (!l.replies.empty() && l.replies.front().first <= clock::now()) {
    const std::string bytes = std::move(l.replies.front().second);
    l.replies.pop_front();
    std::size_t size = bytes.size();
    const std::int64_t cut = cut_;
    if (cut >= 0) size = std::min(size, static_cast<std::size_t>(cut));
    if (!send_all(l.client, bytes.data(), size)) return false;
    passed_ += size;
    if (cut < 0) continue;
    cut_ = size < bytes.size() ? -1 : cut - static_cast<std::int64_t>(size);
    if (size < bytes.size()) return false;
  }
  return true;
}

bool proxy::pass(link& l) {
  pollfd both[] = {{l.client, POLLIN, 0}, {l.server, POLLIN, 0}};
  ::poll(both, 2, 0);
  for (const pollfd& p : both) {
    if (p.revents != 0 && !take(l, p.fd)) return false;
  }
  return deliver(l);
}

void proxy::run() {
  while (!over_) {
    if (carries_.exchange(false)) carry_all();
    if (loses_.exchange(false)) {
      for (link& l : links_) l.lost = true;
    }
    std::vector<pollfd> all{{listener_, POLLIN, 0}};
    bool waiting = false;
    for (const link& l : links_) {
      if (l.lost) continue;
      if (!swallow_) {
        all.push_back({l.client, POLLIN, 0});
        all.push_back({l.server, POLLIN, 0});
      }
      waiting = waiting || !l.replies.empty();
    }
    ::poll(all.data(), all.size(), waiting ? 1 : 10);
    if (all[0].revents != 0) accept_one();
    if (!swallow_) {
      links_.remove_if([this](link& l) { return !l.lost && !pass(l); });
    }
  }
  links_.clear();
}

}  // namespace holdfast::process
