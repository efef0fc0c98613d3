#include "io/zookeeper/zookeeper_word.hpp"

#include "io/net/stream_socket.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::io {

namespace {

constexpr std::size_t bytes_max = 65'536;

using addresses = result<std::vector<socket_address>>;

/// False: the time is over.
bool wait_for(int fd, short what, time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    if (left <= 0) return false;
    pollfd one{.fd = fd, .events = what, .revents = 0};
    if (::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000))) > 0) return true;
  }
}

result<std::string> converse(const socket_address& to, std::string_view word, time_point until) {
  const error silent(errc::unavailable, "does not answer; is it ZooKeeper?");
  const error closed(errc::unavailable,
                     "closes the connection without an answer; is it ZooKeeper, and does it take "
                     "more connections of this host (maxClientCnxns)?");
  const auto refused = [](const error& why) {
    return error(errc::unavailable, "cannot connect: " + why.message());
  };
  auto fd = start_connecting(to, std::chrono::seconds{10});
  if (!fd) return refused(fd.error());
  if (!wait_for(fd->get(), POLLOUT, until)) return error(errc::unavailable, "cannot be reached");
  if (const auto connected = end_connecting(fd->get()); !connected) {
    return refused(connected.error());
  }
  // Four letters into an empty buffer: they are never sent in part.
  if (::send(fd->get(), word.data(), word.size(), MSG_NOSIGNAL) < 0) return closed;
  std::string text;
  // A server ends its answer by closing the connection.
  while (text.size() < bytes_max) {
    char room[4096];
    if (!wait_for(fd->get(), POLLIN, until)) return silent;
    const auto got = ::recv(fd->get(), room, sizeof room, 0);
    if (got <= 0) break;
    text.append(room, static_cast<std::size_t>(got));
  }
  if (text.empty()) return closed;
  return text;
}

}  // namespace

result<std::string> ask_zookeeper(const node_address& server, std::string_view word,
                                  duration limit) {
  const auto until = clock::now() + limit;
  const auto promised = std::make_shared<std::promise<addresses>>();
  auto got = promised->get_future();
  // The answer may come when this has given up: the promise is shared.
  look_up(server, [promised](addresses a) { promised->set_value(std::move(a)); });
  const std::string name = "ZooKeeper server " + server.text();
  if (got.wait_for(limit) != std::future_status::ready) {
    return error(errc::unavailable, name + ": its name is not resolved in time (check DNS)");
  }
  const auto found = got.get();
  if (!found) return error(errc::unavailable, name + ": " + found.error().message());
  error last(errc::unavailable, "has no address");
  for (std::size_t i = 0; i < found->size(); ++i) {
    // One that says nothing leaves the others their share of the time.
    const auto share = (until - clock::now()) / static_cast<std::int64_t>(found->size() - i);
    auto text = converse((*found)[i], word, clock::now() + share);
    if (text) return text;
    last = text.error();
  }
  return error(errc::unavailable, name + ": " + last.message());
}

}  // namespace holdfast::io
