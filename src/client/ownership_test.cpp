#include <holdfast/session.hpp>

#include "client/engines_fixture.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

/// What a call runs may own what it was called on, and end it; and an observer may own its session.
/// The sanitizer watches who touches it later.

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;
using client::testing::eventually;

std::string unused_url() {
  static std::atomic<int> n{};
  return "memory:ownership_test_" + std::to_string(++n);
}

/// Does something at the grant of "x".
struct at_grant : observer {
  using observer::on;
  void on(const event::granted& e) noexcept override {
    if (e.name == lock_name("x")) what();
  }
  std::function<void()> what;
};

TEST(ownership, of_a_session_may_end_inside_its_close) {
  struct holder {
    session of;
    std::optional<lock> held;
  };
  const auto url = unused_url();
  auto first = std::make_unique<holder>(holder{open(url).value(), {}});
  first->held.emplace(first->of.acquire(lock_name("x")).value());
  const auto next = std::make_shared<at_grant>();
  std::atomic<bool> ended{};
  next->what = [&, here = std::this_thread::get_id()] {
    EXPECT_EQ(std::this_thread::get_id(), here) << "this is not inside the close";
    first.reset();
    ended = true;
  };
  auto second = open(url, {.observer = next}).value();
  std::atomic<int> granted{};
  second.acquire(lock_name("x"), {.wait = forever}, [&](const result<lock>& got) {
    EXPECT_EQ(code(got), errc{});
    ++granted;
  });
  auto& closing = first->of;
  EXPECT_TRUE(closing.close());
  EXPECT_TRUE(ended);
  EXPECT_TRUE(eventually([&] { return granted == 1; }));
  EXPECT_TRUE(second.close());
}

TEST(ownership, of_a_session_may_end_while_it_acquires_several) {
  const auto ends = std::make_shared<at_grant>();
  auto s = std::make_unique<session>(open(unused_url(), {.observer = ends}).value());
  ends->what = [&] { s.reset(); };
  auto& acquiring = *s;
  EXPECT_EQ(code(acquiring.acquire_all({lock_name("x"), lock_name("y")})), errc::lost);
  EXPECT_FALSE(s);
}

/// Owns the session that it observes, and closes it in a state or at a release.
struct keeper : observer {
  using observer::on;
  void on(const event::released&) noexcept override { close(); }
  void on(const event::session_changed& e) noexcept override {
    if (e.state == session_state::expired) close();
  }
  void own(session s) {
    mine.emplace(std::move(s));
    owns = true;
    owns.notify_all();
  }
  void close() {
    owns.wait(false);
    EXPECT_TRUE(mine->close());
    closed = true;
  }
  std::optional<session> mine;
  std::atomic<bool> owns{};
  std::atomic<bool> closed{};
};

TEST(ownership, of_an_observer_ends_with_close) {
  auto keeps = std::make_shared<keeper>();
  keeps->own(open(unused_url(), {.observer = keeps}).value());
  const std::weak_ptr<keeper> seen = keeps;
  EXPECT_TRUE(keeps->mine->close());
  keeps.reset();
  EXPECT_TRUE(seen.expired());
}

TEST(ownership, of_an_observer_that_closes_ends_behind_its_call) {
  auto keeps = std::make_shared<keeper>();
  keeps->own(open(unused_url(), {.observer = keeps}).value());
  const std::weak_ptr<keeper> seen = keeps;
  auto held = keeps->mine->acquire(lock_name("x")).value();
  keeps.reset();
  EXPECT_FALSE(seen.expired()) << "nobody has closed its session";
  EXPECT_TRUE(std::move(held).release());
  EXPECT_TRUE(eventually([&] { return seen.expired(); }));
}

TEST(ownership, of_an_observer_ends_when_a_thread_of_the_library_has_closed) {
  const auto url = unused_url();
  auto keeps = std::make_shared<keeper>();
  keeps->own(open(url, {.observer = keeps}).value());
  const std::weak_ptr<keeper> seen = keeps;
  auto other = open(url).value();
  auto held = other.acquire(lock_name("x")).value();
  keeps->mine->acquire(lock_name("x"), {.wait = forever}, [seen](result<lock> got) {
    EXPECT_EQ(code(got), errc{});
    if (const auto its = seen.lock()) its->close();
  });
  EXPECT_TRUE(std::move(held).release());
  EXPECT_TRUE(eventually([&] { return keeps->closed.load(); }));
  keeps.reset();
  EXPECT_TRUE(eventually([&] { return seen.expired(); }));
}

// On the alarm, and there is nothing to remove from the store any more.
TEST(ownership, of_an_observer_ends_when_its_session_expired_and_was_closed_there) {
  auto opened = client::testing::memory("ownership_expires");
  const auto engine = std::make_shared<client::testing::wrapped_engine>(opened.engine);
  opened.engine = engine;
  engine->drop_beats = true;
  const auto store = client::store_core::on(opened, 30s, 1h);
  auto keeps = std::make_shared<keeper>();
  auto core = client::session_core::open(store, {.ttl = 2s, .observer = keeps});
  ASSERT_TRUE(core) << core.error().message();
  keeps->own(client::session_core::make_session(std::move(*core)));
  const std::weak_ptr<keeper> seen = keeps;
  EXPECT_TRUE(eventually([&] { return keeps->closed.load(); }));
  keeps.reset();
  EXPECT_TRUE(eventually([&] { return seen.expired(); }));
}

}  // namespace
}  // namespace holdfast
