#include "io/zookeeper/zookeeper_connection.hpp"

#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

/// A connection without a server. With one: src/engines/zookeeper, and tests/zookeeper.

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

struct told final : zookeeper_connection::listener {
  void connected() override {}
  void disconnected() override {}
  void none_there() override {}
  void ended() override { end.set_value(); }
  void node_changed(const std::string&) override {}
  std::promise<void> end;
};

zookeeper_connection::options to(const std::string& servers) {
  return {.servers = servers, .login = {}, .timeout = 2s};
}

TEST(zookeeper_connection, answers_behind_the_call_what_it_cannot_send) {
  const auto l = std::move(loop::start().value());
  std::promise<zoo_code> answered;
  std::atomic<bool> inside{};
  std::atomic<bool> was_inside{};
  l->post([&] {
    const auto c =
        std::make_shared<zookeeper_connection>(l, to("127.0.0.1:1"), std::weak_ptr<told>());
    inside = true;
    c->send({.what = zoo_request::kind::get, .path = "/x"}, [&, c](const zoo_reply& r) {
      was_inside = inside.load();
      answered.set_value(r.code);
    });
    inside = false;
  });
  auto code = answered.get_future();
  ASSERT_EQ(code.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(code.get(), zoo_code::invalid_state);
  EXPECT_FALSE(was_inside);
}

TEST(zookeeper_connection, to_servers_that_the_library_cannot_read_has_ended) {
  const auto l = std::move(loop::start().value());
  const auto listens = std::make_shared<told>();
  l->post([&] {
    const auto c = std::make_shared<zookeeper_connection>(l, to("127.0.0.1"), listens);
    c->start();
    l->post([c] {});  // Behind its start, and on the loop's thread.
  });
  EXPECT_EQ(listens->end.get_future().wait_for(10s), std::future_status::ready);
}

}  // namespace
}  // namespace holdfast::io
