#include <holdfast/session.hpp>

#include "client/outcome_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

/// What a call runs may own what it was called on, and end it.
/// The sanitizer watches who touches it later.

namespace holdfast {
namespace {

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

}  // namespace
}  // namespace holdfast
