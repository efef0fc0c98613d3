#include "bench/redis/bare_nodes.hpp"

#include "tests/process/loopback.hpp"
#include "wire/resp_writer.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace holdfast::bench {

namespace {

io::unique_fd connected(int port) {
  io::unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = process::loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    throw std::runtime_error("connect");
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

/// The end of the answer that begins at `at`, or null: it is not all there.
const char* end_of(const char* at, const char* end) {
  const auto* line =
      static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
  if (line == nullptr) return nullptr;
  const char kind = *at;
  const long count = std::strtol(at + 1, nullptr, 10);
  ++line;
  if (kind == '$' && count >= 0) return end - line >= count + 2 ? line + count + 2 : nullptr;
  if (kind != '*') return line;
  for (long i = 0; i < count && line != nullptr; ++i)
    line = line < end ? end_of(line, end) : nullptr;
  return line;
}

}  // namespace

bare_nodes::bare_nodes(const std::vector<int>& ports)
    : nodes_(ports.size()), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    nodes_[i].fd = connected(ports[i]);
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u32 = static_cast<std::uint32_t>(i);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, nodes_[i].fd.get(), &wanted);
  }
}

std::string bare_nodes::ask(std::size_t at, std::string_view bytes) {
  node& n = nodes_[at];
  n.out += bytes;
  flush();
  for (;;) {
    receive(at);
    if (n.end == n.begin) continue;
    const char* from = n.in.data() + n.begin;
    const char* to = end_of(from, n.in.data() + n.end);
    if (to == nullptr) continue;
    std::string reply(from, to);
    n.begin = n.end = 0;
    return reply;
  }
}

void bare_nodes::queue(std::size_t at, std::string_view bytes, std::uint64_t tag) {
  nodes_[at].out += bytes;
  nodes_[at].tags.push_back(tag);
}

void bare_nodes::flush() {
  for (node& n : nodes_) {
    std::size_t sent = 0;
    while (sent < n.out.size()) {
      const auto count = ::send(n.fd.get(), n.out.data() + sent, n.out.size() - sent, MSG_NOSIGNAL);
      if (count < 0) throw std::runtime_error("send");
      sent += static_cast<std::size_t>(count);
      ++calls_;
    }
    n.out.clear();
  }
}

void bare_nodes::receive(std::size_t at) {
  node& n = nodes_[at];
  if (n.begin == n.end) {
    n.begin = n.end = 0;
  } else if (n.end + 65'536 > n.in.size()) {
    std::memmove(n.in.data(), n.in.data() + n.begin, n.end - n.begin);
    n.end -= std::exchange(n.begin, 0);
  }
  const auto count = ::recv(n.fd.get(), n.in.data() + n.end, n.in.size() - n.end, 0);
  if (count <= 0) throw std::runtime_error("a server ended the connection");
  ++calls_;
  n.end += static_cast<std::size_t>(count);
}

bool bare_nodes::next(std::size_t at, answer& a) {
  node& n = nodes_[at];
  if (n.begin == n.end) return false;
  const char* from = n.in.data() + n.begin;
  const char* to = end_of(from, n.in.data() + n.end);
  if (to == nullptr) return false;
  if (*from == '-') std::fprintf(stderr, "%.*s\n", static_cast<int>(to - from - 2), from);
  const char* first =
      *from == '*' ? static_cast<const char*>(std::memchr(from, '\n', 16)) + 1 : from;
  a.number = *first == ':' ? std::strtoull(first + 1, nullptr, 10) : 0;
  a.yes = *first == '+' || a.number > 0;
  a.node = at;
  a.tag = n.tags.front();
  n.tags.pop_front();
  n.begin = static_cast<std::size_t>(to - n.in.data());
  return true;
}

std::string text_of(const std::string& reply) {
  const auto line = reply.find('\n');
  return reply.substr(line + 1, reply.size() - line - 3);
}

double info(bare_nodes& connection, std::string_view section, const std::string& field) {
  std::string bytes;
  wire::resp_writer(bytes).command("INFO", section);
  const std::string all = text_of(connection.ask(0, bytes));
  const auto at = all.find(field);
  return at == std::string::npos ? 0 : std::strtod(all.c_str() + at + field.size() + 1, nullptr);
}

}  // namespace holdfast::bench
