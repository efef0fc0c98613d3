#include "io/net/stream_socket.hpp"

#include "io/process/per_process.hpp"
#include "io/thread/background.hpp"
#include "io/thread/mutex.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace holdfast::io {

namespace {

using addresses = std::vector<socket_address>;

using told = std::function<void(result<addresses>)>;

/// Of one name. Whoever tries to connect gives a try up and begins the next one: that must not
/// cost a thread each, nor throw away an answer that takes longer than a try.
struct lookup {
  time_point began{};
  std::vector<told> waiting{};
  addresses found{};
  time_point good_until{};  ///< Of what was found.
};

/// After this long a lookup is no longer waited for by those who ask anew: the resolver may have
/// lost the question, and answer the next one.
constexpr duration lookup_shared = std::chrono::seconds{30};

/// How long an answer is given to who asks next, who may have been too early for it.
duration kept_for(duration took) { return std::min(2 * took, lookup_shared); }

// Threads that wait for a resolver which does not answer: not without bound.
constexpr int lookups_max = 32;

struct lookups {
  io::mutex mutex;
  int threads HOLDFAST_GUARDED_BY(mutex){};
  /// Where who asks may join.
  std::map<std::string, std::shared_ptr<lookup>> by_node HOLDFAST_GUARDED_BY(mutex){};
};

// Those of a parent are not in its forked child.
constinit per_process<lookups> all_lookups;

/// The lookup that is to be begun; nothing when `found` was told, or waits for another one.
std::shared_ptr<lookup> join_or_begin(lookups& all, const node_address& node, told found) {
  const auto now = clock::now();
  held_mutex hold(all.mutex);
  std::erase_if(all.by_node, [now](const auto& one) {
    const lookup& l = *one.second;
    return l.found.empty() ? now - l.began >= lookup_shared : now >= l.good_until;
  });
  const auto known = all.by_node.find(node.text());
  if (known != all.by_node.end() && known->second->found.empty()) {
    known->second->waiting.push_back(std::move(found));
    return {};
  }
  if (known != all.by_node.end()) {
    const auto kept = known->second->found;
    hold.unlock();
    found(kept);
    return {};
  }
  if (all.threads >= lookups_max) {
    hold.unlock();
    found(error(errc::unavailable, "the name '" + node.host +
                                       "' is not looked up: " + std::to_string(lookups_max) +
                                       " earlier lookups hang (check DNS)"));
    return {};
  }
  ++all.threads;
  auto begun = std::make_shared<lookup>();
  begun->began = now;
  begun->waiting.push_back(std::move(found));
  all.by_node[node.text()] = begun;
  return begun;
}

void end_lookup(lookups& all, const node_address& node, const std::shared_ptr<lookup>& one,
                const result<addresses>& found) {
  held_mutex hold(all.mutex);
  if (found) {
    const auto now = clock::now();
    one->found = *found;
    one->good_until = now + kept_for(now - one->began);
  } else if (const auto known = all.by_node.find(node.text());
             known != all.by_node.end() && known->second == one) {
    all.by_node.erase(known);
  }
  const auto waiting = std::exchange(one->waiting, {});
  hold.unlock();
  for (const auto& tell : waiting) tell(found);
  hold.lock();
  --all.threads;
}

error system_failure(int number) {
  std::string text = std::generic_category().message(number);
  if (number == ECONNREFUSED || number == ENOENT) text += " (is the server running there?)";
  return error(errc::unavailable, std::move(text));
}

addresses address_of_path(const std::string& path) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path.data(), std::min(path.size(), sizeof to.sun_path - 1));
  socket_address one{.bytes = {}, .size = sizeof to};
  std::memcpy(&one.bytes, &to, sizeof to);
  return {one};
}

result<addresses> ask_system(const node_address& node, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const auto port = std::to_string(node.port);
  const int failed = ::getaddrinfo(node.host.c_str(), port.c_str(), &wanted, &first);
  if (failed != 0) {
    return error(errc::unavailable, "the name '" + node.host + "' has no address: " +
                                        ::gai_strerror(failed) + " (check its spelling and DNS)");
  }
  addresses all;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
    socket_address one{.bytes = {}, .size = at->ai_addrlen};
    std::memcpy(&one.bytes, at->ai_addr, at->ai_addrlen);
    const auto same = [&one](const socket_address& a) {
      return a.size == one.size && std::memcmp(&a.bytes, &one.bytes, one.size) == 0;
    };
    // Two lines of /etc/hosts may say the same.
    if (std::ranges::none_of(all, same)) all.push_back(one);
  }
  ::freeaddrinfo(first);
  return all;
}

void set(int fd, int level, int option, int value) noexcept {
  // Each is an improvement only: a kernel without it still has the limits of the connection.
  static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

void tune_tcp(int fd, duration silence_max) noexcept {
  using namespace std::chrono;
  const auto limit = std::max<std::int64_t>(duration_cast<milliseconds>(silence_max).count(), 1);
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(std::min<std::int64_t>(limit, 600'000)));
}

}  // namespace

std::string text_of(const socket_address& address) {
  if (address.bytes.ss_family == AF_UNIX) {
    sockaddr_un at{};
    std::memcpy(&at, &address.bytes, std::min<std::size_t>(address.size, sizeof at));
    return at.sun_path;
  }
  char host[NI_MAXHOST] = {};
  const auto* bytes = reinterpret_cast<const sockaddr*>(&address.bytes);
  // It cannot fail for what the system's resolver gave.
  static_cast<void>(
      ::getnameinfo(bytes, address.size, host, sizeof host, nullptr, 0, NI_NUMERICHOST));
  return host;
}

void look_up(const node_address& node, told found) {
  // Neither this nor a number is asked of the resolver, which may hang.
  if (node.is_unix()) return found(address_of_path(node.path));
  if (auto numeric = ask_system(node, AI_NUMERICHOST)) return found(std::move(numeric));
  auto& all = all_lookups.get();
  const auto begun = join_or_begin(all, node, std::move(found));
  if (!begun) return;
  auto thread = start_thread(
      "holdfast-names", [node, begun, &all] { end_lookup(all, node, begun, ask_system(node, 0)); });
  if (thread) return thread->detach();
  end_lookup(all, node, begun, thread.error());
}

std::string no_address_yet(const node_address& node, duration waited) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  return "the resolver has not answered for " + std::to_string(ms) + " ms where the name '" +
         node.host + "' leads; it is slow or hangs (check DNS)";
}

bool is_name(const node_address& node) {
  return !node.is_unix() && !ask_system(node, AI_NUMERICHOST);
}

result<unique_fd> start_connecting(const socket_address& to, duration silence_max) {
  const int family = to.bytes.ss_family;
  unique_fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_failure(errno);
  if (family != AF_UNIX) tune_tcp(fd.get(), silence_max);
  const auto* address = reinterpret_cast<const sockaddr*>(&to.bytes);
  // EAGAIN: the queue of a unix socket's listener is full, and nothing tells when it is not.
  if (::connect(fd.get(), address, to.size) != 0 && errno != EINPROGRESS) {
    return system_failure(errno);
  }
  return fd;
}

result<void> end_connecting(int fd) {
  int number = 0;
  socklen_t size = sizeof number;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0) number = errno;
  // Connected, and already closed by the peer: whoever reads is told so.
  const bool was_connected = number == EPIPE || number == ECONNRESET;
  if (number != 0 && !was_connected) return system_failure(number);
  return {};
}

}  // namespace holdfast::io
