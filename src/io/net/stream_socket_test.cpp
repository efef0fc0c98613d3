#include "io/net/stream_socket.hpp"

#include "io/net/slow_resolver_fixture.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

int option(const unique_fd& fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(fd.get(), level, name, &value, &size), 0);
  return value;
}

/// Waits until something has happened to it.
bool is_settled(const unique_fd& fd) {
  pollfd wanted{.fd = fd.get(), .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&wanted, 1, 20'000) == 1;
}

/// Of one connection over TCP on this machine both ends.
class pair_of_ends {
 public:
  explicit pair_of_ends(duration silence_max = 10s) {
    const unique_fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_address to{.bytes = {}, .size = sizeof at};
    ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
    ::listen(listener.get(), 1);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&to.bytes), &to.size);
    ours = std::move(*start_connecting(to, silence_max));
    peers = unique_fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  void reset_by_peer() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(peers.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    peers = {};
  }

  unique_fd ours;
  unique_fd peers;
};

TEST(stream_socket, knows_names_from_numbers_and_paths) {
  EXPECT_TRUE(is_name({.host = "localhost", .port = 1, .path = {}}));
  EXPECT_FALSE(is_name({.host = "127.0.0.1", .port = 1, .path = {}}));
  EXPECT_FALSE(is_name({.host = "::1", .port = 1, .path = {}}));
  EXPECT_FALSE(is_name({.host = {}, .port = 0, .path = "/run/redis.sock"}));
}

TEST(stream_socket, neither_blocks_nor_passes_to_what_is_executed) {
  const pair_of_ends both;
  EXPECT_NE(::fcntl(both.ours.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(both.ours.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(stream_socket, sends_at_once_and_has_the_kernel_give_a_silent_host_up) {
  const pair_of_ends both(7s);
  EXPECT_NE(option(both.ours, IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_EQ(option(both.ours, IPPROTO_TCP, TCP_USER_TIMEOUT), 7000);
  // Where nothing is sent: this asks, and what was set above ends it when nobody answers.
  EXPECT_NE(option(both.ours, SOL_SOCKET, SO_KEEPALIVE), 0);
  EXPECT_EQ(option(both.ours, IPPROTO_TCP, TCP_KEEPIDLE), 10);
  EXPECT_EQ(option(both.ours, IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(option(both.ours, IPPROTO_TCP, TCP_KEEPCNT), 3);
}

// 0 would leave it to the system: 15 minutes.
TEST(stream_socket, has_a_limit_for_the_shortest_and_the_longest_silence) {
  EXPECT_EQ(option(pair_of_ends(1us).ours, IPPROTO_TCP, TCP_USER_TIMEOUT), 1);
  EXPECT_EQ(option(pair_of_ends(1000h).ours, IPPROTO_TCP, TCP_USER_TIMEOUT), 600'000);
}

// Whoever reads is told so, and may find what the peer has said before.
TEST(stream_socket, was_connected_though_the_peer_is_gone_already) {
  pair_of_ends reset;
  reset.reset_by_peer();
  ASSERT_TRUE(is_settled(reset.ours));
  EXPECT_TRUE(end_connecting(reset.ours.get()));

  pair_of_ends ended;
  ::shutdown(ended.peers.get(), SHUT_WR);
  ASSERT_TRUE(is_settled(ended.ours));
  ended.reset_by_peer();
  pollfd gone{.fd = ended.ours.get(), .events = 0, .revents = 0};
  ASSERT_EQ(::poll(&gone, 1, 20'000), 1);
  EXPECT_TRUE(end_connecting(ended.ours.get()));
}

TEST(stream_socket, is_not_connected_where_nobody_listens) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const unique_fd bound(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socket_address to{.bytes = {}, .size = sizeof at};
  ::bind(bound.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
  ::getsockname(bound.get(), reinterpret_cast<sockaddr*>(&to.bytes), &to.size);
  const auto fd = start_connecting(to, 10s);
  if (!fd) return;  // Refused as soon as it was asked.
  ASSERT_TRUE(is_settled(*fd));
  const auto ended = end_connecting(fd->get());
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().message().find("Connection refused"), std::string::npos);
}

TEST(look_up, of_a_path_is_told_at_once) {
  std::string told;
  look_up({.host = {}, .port = 0, .path = "/run/redis.sock"}, [&](const auto& found) {
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().bytes.ss_family, AF_UNIX);
    told = text_of(found->front());
  });
  EXPECT_EQ(told, "/run/redis.sock");
}

TEST(look_up, tells_no_address_twice) {
  slow_resolver names;
  names.answer();
  names.lead_to({"127.0.0.2", "127.0.0.1", "127.0.0.2", "::1", "127.0.0.1"});
  const auto told = std::make_shared<std::promise<std::string>>();
  look_up({.host = "twice.slow", .port = 7, .path = {}}, [told](const auto& found) {
    std::string all;
    if (found) {
      for (const auto& one : *found) all += text_of(one) + " ";
    }
    told->set_value(all);
  });
  EXPECT_EQ(told->get_future().get(), "127.0.0.2 127.0.0.1 ::1 ");
}

// Whoever is told may ask, or wait for somebody who asks.
TEST(look_up, tells_whoever_asked_while_others_may_ask) {
  slow_resolver names;
  const node_address node{.host = "nested.slow", .port = 7, .path = {}};
  const auto asks_again = [node] {
    const auto told = std::make_shared<std::promise<bool>>();
    std::thread([node, told] {
      look_up(node, [told](const auto& found) { told->set_value(found.has_value()); });
    }).detach();
    return told->get_future().wait_for(20s) == std::future_status::ready;
  };
  const auto first = std::make_shared<std::promise<bool>>();
  look_up(node, [=](const auto&) { first->set_value(asks_again()); });
  std::this_thread::sleep_for(50ms);  // An answer that took so long is kept for twice that.
  names.answer();
  EXPECT_TRUE(first->get_future().get()) << "who waited";
  const auto kept = std::make_shared<std::promise<bool>>();
  look_up(node, [=](const auto&) { kept->set_value(asks_again()); });
  EXPECT_TRUE(kept->get_future().get()) << "who is told what was kept";
}

}  // namespace
}  // namespace holdfast::io
