#include "client/await.hpp"
#include "client/engines_fixture.hpp"
#include "core/sanitizer.hpp"

#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// More than the allowed holders and waiters of one name, seen by a program.

namespace holdfast::client {
namespace {

using namespace std::chrono_literals;

const lock_name crowd("crowd");

/// Ten sessions that hold it together as often as it may be held: a client opens one session for
/// each of its entries at least, which would take minutes here.
class full_name : public ::testing::Test {
 protected:
  void SetUp() override {
#if HOLDFAST_UNDER_ASAN || HOLDFAST_UNDER_TSAN
    GTEST_SKIP() << "so many entries cost minutes when every access is checked";
#endif
    for (std::uint8_t n = 1; n <= 10; ++n) {
      core::open_request r;
      r.draft.id.bytes.fill(n);
      r.draft.ttl = 10min;
      const auto reply = call(*store_.engine, &core::engine::open, r);
      ASSERT_EQ(reply.what, core::status::ok);
      inc_.push_back(reply.at.inc);
      gate_ = reply.gate;
      id_.push_back(r.draft.id);
    }
    for (std::size_t i = 0; i < core::waiters_max; ++i) {
      const core::enqueue_request r{.name = crowd,
                                    .id = id_[i % 10],
                                    .inc = inc_[i % 10],
                                    .gate = gate_,
                                    .request = i + 1,
                                    .how = mode::shared()};
      const auto view = call(*store_.engine, &core::engine::enqueue, r);
      ASSERT_EQ(view.what, core::status::ok) << view.text;
      last_ = view.mine;
    }
  }
  void one_leaves() {
    const core::leave_request r{
        .name = crowd, .id = id_.back(), .inc = inc_.back(), .order = last_};
    const auto reply = call(*store_.engine, &core::engine::leave, r);
    ASSERT_EQ(reply.what, core::status::ok);
  }
  static void expect_refused(const result<lock>& r) {
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::unavailable);
    const std::string text = r.error().message();
    EXPECT_NE(text.find("crowd"), std::string::npos) << text;
    EXPECT_NE(text.find("more than 10000 hold or wait; try again"), std::string::npos) << text;
  }

  const std::string url_ = "memory:waiters_max_test";

 private:
  const engines::opened_store store_ = testing::memory("waiters_max_test");
  std::vector<session_id> id_;
  std::vector<std::uint64_t> inc_;
  std::uint64_t gate_{};
  token last_;
};

TEST_F(full_name, refuses_one_more_at_once_and_lets_it_in_when_one_has_left) {
  auto s = open(url_);
  ASSERT_TRUE(s) << s.error().message();
  const auto began = clock::now();
  expect_refused(s->acquire(crowd, {.mode = mode::shared(), .wait = 1h}));
  expect_refused(s->acquire(crowd, {.wait = forever}));
  EXPECT_LT(clock::now() - began, 30s);
  const auto once = s->try_acquire(crowd);
  ASSERT_FALSE(once);
  EXPECT_EQ(once.error(), errc::busy) << "a try needs no room";
  EXPECT_TRUE(s->acquire(lock_name("other"))) << "the limit is per name";

  one_leaves();
  EXPECT_TRUE(s->acquire(crowd, {.mode = mode::shared()}));
  const auto alone = s->acquire(crowd, {.wait = 50ms});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error(), errc::timed_out) << "there is room to wait, but others hold it";
}

}  // namespace
}  // namespace holdfast::client
