#include "client/engines_fixture.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::client {
namespace {

using namespace std::chrono_literals;
using testing::code;

/// Says when the record was sent; before that, as often as asked for, that nobody knows.
class late_engine final : public testing::wrapped_engine {
 public:
  using wrapped_engine::wrapped_engine;
  void open(const core::open_request& r, core::on<core::open_reply> d) override {
    wrapped_engine::open(r, [this, d = std::move(d)](core::open_reply reply) {
      if (unknown-- > 0) reply.what = core::status::unknown;
      reply.sent = sent;
      d(std::move(reply));
    });
  }
  std::optional<time_point> sent;
  int unknown{};
};

struct slow_open : ::testing::Test {
  slow_open() {
    auto opened = testing::memory(std::string("slow_") +
                                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    engine = std::make_shared<late_engine>(opened.engine);
    // Of a ttl that is half over the first is due at once, and would begin it anew.
    engine->drop_beats = true;
    opened.engine = engine;
    of = store_core::on(std::move(opened), 30s, 1h);
  }
  duration left_after_open() {
    const auto s = session_core::open(of, {});
    EXPECT_TRUE(s);
    return s ? (*s)->status().remaining : duration::zero();
  }
  std::shared_ptr<late_engine> engine;
  std::shared_ptr<store_core> of;
};

TEST_F(slow_open, a_session_lasts_from_when_its_record_was_sent) {
  EXPECT_GT(left_after_open(), 20s);
  engine->sent = clock::now() - 15s;
  EXPECT_LT(left_after_open(), 15s);
}

TEST_F(slow_open, a_record_that_may_be_older_than_the_last_attempt_does_not_prove_that) {
  engine->sent = clock::now() + 1h;
  engine->unknown = 1;
  EXPECT_LE(left_after_open(), 30s);
}

TEST_F(slow_open, one_that_took_longer_than_the_ttl_found_the_store_unavailable) {
  engine->sent = clock::now() - 31s;
  const auto s = session_core::open(of, {});
  ASSERT_EQ(code(s), errc::unavailable) << "nothing was held that could be lost";
  EXPECT_NE(s.error().message().find("took longer than its ttl, 30s"), std::string::npos)
      << s.error().message();
}

}  // namespace
}  // namespace holdfast::client
