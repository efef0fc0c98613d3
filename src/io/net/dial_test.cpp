#include "io/net/dial.hpp"

#include "core/sanitizer.hpp"
#include "io/net/slow_resolver_fixture.hpp"
#include "io/net/stream_socket.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/loop.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

std::string numbers_of(const sockaddr_in& at) {
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &at.sin_addr, text, sizeof text);
  return text;
}

/// Listens on one address of this machine, at a port of its own or at the one given.
class listener {
 public:
  explicit listener(const char* host, std::uint16_t port = 0, int queue = 16)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    ::inet_pton(AF_INET, host, &at.sin_addr);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(fd_.get(), queue), 0);
  }
  std::uint16_t port() const {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    return ntohs(at.sin_port);
  }
  void accept_one() const { unique_fd(::accept(fd_.get(), nullptr, nullptr)); }
  bool was_asked() const {
    pollfd wanted{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&wanted, 1, 0) == 1;
  }

 private:
  unique_fd fd_;
};

socket_address address(const char* host, std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &at.sin_addr);
  socket_address made{.bytes = {}, .size = sizeof at};
  std::memcpy(&made.bytes, &at, sizeof at);
  return made;
}

/// Of three of this machine, 127.0.0.1 behind the others.
std::vector<socket_address> own_last(std::uint16_t port) {
  return {address("127.0.0.2", port), address("127.0.0.3", port), address("127.0.0.1", port)};
}

/// Listens, but its queue is full: who connects hears nothing.
class silent_listener {
 public:
  explicit silent_listener(const char* host, std::uint16_t port) : listener_(host, port, 0) {
    first_ = std::move(*start_connecting(address(host, port), 10s));
  }
  /// The next attempt of the kernel is heard.
  void make_room() const { listener_.accept_one(); }

 private:
  listener listener_;
  unique_fd first_;
};

struct ending {
  std::optional<result<unique_fd>> how{};
  std::string reached{};
  duration took{};

  std::string why() const { return how && !*how ? how->error().message() : "it connected"; }
  std::string peer() const {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    if (!how || !*how) return why();
    ::getpeername((*how)->get(), reinterpret_cast<sockaddr*>(&at), &size);
    return numbers_of(at);
  }
};

/// `meanwhile` runs after it has begun.
ending end_of(
    dial::target to, const std::function<void()>& meanwhile = [] {}) {
  to.silence_max = 10s;
  ending e;
  latch done;
  std::shared_ptr<dial> d;
  const auto began = clock::now();
  const auto l = *loop::start();
  l->post([&] {
    d = dial::make(l, std::move(to), [&](result<unique_fd> how) {
      e.how.emplace(std::move(how));
      e.took = clock::now() - began;
      e.reached = text_of(d->reached());
      d.reset();
      done.open();
    });
    d->start();
  });
  meanwhile();
  done.wait();
  return e;
}

TEST(look_up, who_asks_meanwhile_is_told_what_the_first_question_brings) {
  constexpr int many = 40;  // More than may hang.
  slow_resolver names;
  const auto all = std::make_shared<std::latch>(many);
  const auto found = std::make_shared<std::atomic<int>>(0);
  for (int i = 0; i < many; ++i) {
    look_up({.host = "db.slow", .port = 7, .path = {}}, [all, found](const auto& addresses) {
      if (addresses && text_of(addresses->front()) == "127.0.0.1") ++*found;
      all->count_down();
    });
  }
  std::this_thread::sleep_for(500ms);
  names.answer();
  all->wait();
  EXPECT_EQ(*found, many);
  // Who gave up before the answer came, and asks again now.
  std::promise<std::string> later;
  look_up({.host = "db.slow", .port = 7, .path = {}},
          [&](const auto& kept) { later.set_value(kept ? text_of(kept->front()) : "none"); });
  EXPECT_EQ(later.get_future().get(), "127.0.0.1");
  EXPECT_EQ(names.questions(), 1);
}

#if !HOLDFAST_UNDER_TSAN  // It does not support new threads in a forked child.
TEST(look_up, of_a_forked_child_does_not_count_what_hangs_in_its_parent) {
  const auto node = [](int number) {
    return node_address{
        .host = "localhost", .port = static_cast<std::uint16_t>(number), .path = {}};
  };
  const auto go = std::make_shared<std::latch>(1);
  const auto inside = std::make_shared<std::latch>(32);
  for (int i = 1; i <= 32; ++i) {
    look_up(node(i), [go, inside](const auto&) {
      inside->count_down();
      go->wait();
    });
  }
  inside->wait();
  const auto is_refused = [&node] {
    const auto told = std::make_shared<std::promise<bool>>();
    look_up(node(33), [told](const auto& found) {
      told->set_value(!found &&
                      found.error().message().find("earlier lookups hang") != std::string::npos);
    });
    return told->get_future().get();
  };
  EXPECT_TRUE(is_refused());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(is_refused() ? 1 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  go->count_down();
}
#endif

TEST(dial, leaves_an_address_that_refuses_for_the_next_at_once) {
  const listener on("127.0.0.1");
  const auto e = end_of({.host = "name", .addresses = own_last(on.port()), .patience = 1h});
  EXPECT_EQ(e.peer(), "127.0.0.1");
  EXPECT_EQ(e.reached, "127.0.0.1");
}

TEST(dial, tries_the_next_beside_an_address_that_says_nothing) {
  const listener on("127.0.0.1");
  const silent_listener silent("127.0.0.2", on.port());
  const auto e = end_of({.host = "name", .addresses = own_last(on.port()), .patience = 100ms});
  EXPECT_EQ(e.peer(), "127.0.0.1");
  EXPECT_GE(e.took, 100ms);
  EXPECT_LT(e.took, 5s);
}

TEST(dial, takes_an_address_that_was_slow_when_all_others_refuse) {
  const std::uint16_t port = listener("127.0.0.2").port();
  const silent_listener silent("127.0.0.2", port);
  const auto e = end_of({.host = "name",
                         .addresses = {address("127.0.0.2", port), address("127.0.0.3", port)},
                         .patience = 1ms},
                        [&] {
                          std::this_thread::sleep_for(100ms);
                          silent.make_room();
                        });
  EXPECT_EQ(e.peer(), "127.0.0.2");
}

TEST(dial, takes_the_addresses_in_their_order) {
  const listener one("127.0.0.1");
  const listener other("127.0.0.2", one.port());
  for (const char* first : {"127.0.0.1", "127.0.0.2"}) {
    const auto e =
        end_of({.host = "name",
                .addresses = {address(first, one.port()), address("127.0.0.1", one.port()),
                              address("127.0.0.2", one.port())}});
    EXPECT_EQ(e.peer(), first);
  }
}

TEST(dial, that_has_ended_tries_nobody_else) {
  const listener one("127.0.0.1");
  const listener other("127.0.0.2", one.port());
  for (const bool is_dropped : {false, true}) {
    std::shared_ptr<dial> d;
    latch done;
    const auto l = *loop::start();
    l->post([&] {
      const dial::target to{
          .host = "name",
          .addresses = {address("127.0.0.1", one.port()), address("127.0.0.2", one.port())},
          .silence_max = 10s,
          .patience = 100ms};
      d = dial::make(l, to, [&](const result<unique_fd>& how) {
        EXPECT_TRUE(how);
        if (is_dropped) d.reset();
        l->at(clock::now() + 150ms, [&] {
          d.reset();
          done.open();
        });
      });
      d->start();
    });
    done.wait();
    EXPECT_FALSE(other.was_asked());
  }
}

TEST(dial, that_nobody_takes_names_every_address_and_why) {
  const listener elsewhere("127.0.0.1");
  const auto port = elsewhere.port();
  const std::string refused = ": Connection refused (is the server running there?)";
  const auto one = address("127.0.0.2", port);
  const auto two = address("127.0.0.3", port);
  EXPECT_EQ(end_of({.host = "127.0.0.2", .addresses = {one}}).why(), "cannot connect" + refused);
  EXPECT_EQ(end_of({.host = "name", .addresses = {one}}).why(),
            "cannot connect to 127.0.0.2" + refused);
  EXPECT_EQ(end_of({.host = "name", .addresses = {one, two}}).why(),
            "cannot connect to 127.0.0.2 and 127.0.0.3" + refused);
  EXPECT_EQ(end_of({.host = "name", .addresses = {two, one}}).why(),
            "cannot connect to 127.0.0.2 and 127.0.0.3" + refused)
      << "in whatever order they come";
  // Of no network that is connected to by TCP.
  const auto e = end_of({.host = "name", .addresses = {one, address("255.255.255.255", port)}});
  EXPECT_EQ(e.why(), "cannot connect to 127.0.0.2" + refused +
                         ", to 255.255.255.255: Network is unreachable");
}

}  // namespace
}  // namespace holdfast::io
