#include "bench/bare_redlock.hpp"

#include "engines/redlock/commands.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/scripts.hpp"
#include "io/random.hpp"
#include "wire/resp_writer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace holdfast::bench {

namespace {

namespace redlock = engines::redlock;
using namespace std::chrono_literals;

constexpr duration session_ttl = 60s;

io::unique_fd connected(int port) {
  io::unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
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

/// The text of a bulk string.
std::string text_of(const std::string& reply) {
  const auto line = reply.find('\n');
  return reply.substr(line + 1, reply.size() - line - 3);
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

bare_texts::bare_texts(bare_nodes& on, bool with_tokens) : tokens(with_tokens) {
  const session_id id = io::random_session_id();
  session = id.str();
  std::string bytes;
  for (std::size_t i = 0; i < on.size(); ++i) {
    bytes.clear();
    redlock::commands::load(bytes, redlock::scripts::release);
    on.ask(i, bytes);
    if (!tokens) continue;
    bytes.clear();
    wire::resp_writer(bytes).command("HGET", redlock::node_key, "nonce");
    nonces.push_back(text_of(on.ask(i, bytes)));
    bytes.clear();
    wire::resp_writer(bytes).command("HGET", redlock::node_key, "epoch");
    epoch = std::strtoull(text_of(on.ask(i, bytes)).c_str(), nullptr, 10);
    bytes.clear();
    const std::array<std::pair<std::string_view, std::string_view>, 1> fields{{{"host", "bare"}}};
    redlock::commands::open(bytes, id, session_ttl, nonces.back(), fields);
    on.ask(i, bytes);
  }
}

std::string bare_texts::value(std::uint64_t number) const {
  char text[41];
  std::snprintf(text, sizeof text, "%040llx", static_cast<unsigned long long>(number));
  return tokens ? std::string(text) + "." + session : std::string(text);
}

void bare_texts::acquire(std::string& out, std::size_t node, std::string_view name,
                         std::string_view value, std::uint64_t hint) const {
  out.clear();
  if (tokens) {
    redlock::commands::acquire(out, name, value, *session_id::parse(session), 30s, hint,
                               nonces[node], epoch);
  } else {
    redlock::commands::set_plain(out, name, value, 30s);
  }
}

void bare_texts::release(std::string& out, std::string_view name, std::string_view value) const {
  out.clear();
  redlock::commands::release(out, name, value);
}

bool bare_caller::acquire(std::string_view name, std::string_view value) {
  ++round_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    texts_.acquire(bytes_, i, name, value, newest_);
    nodes_.queue(i, bytes_, round_);
  }
  return await_majority();
}

bool bare_caller::release(std::string_view name, std::string_view value) {
  ++round_;
  texts_.release(bytes_, name, value);
  nodes_.queue_all(bytes_, round_);
  return await_majority();
}

bool bare_caller::await_majority() {
  nodes_.flush();
  std::size_t yes = 0;
  std::size_t all = 0;
  while (yes < nodes_.majority() && all < nodes_.size()) {
    nodes_.turn([&](const bare_nodes::answer& a) {
      if (texts_.tokens && a.number > newest_) newest_ = a.number;
      if (a.tag != round_) return;
      ++all;
      if (a.yes) ++yes;
    });
  }
  return yes >= nodes_.majority();
}

}  // namespace holdfast::bench
