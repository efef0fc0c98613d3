// What an engine says of its store when it is opened, and the client keeps to.
#include "client/engines_fixture.hpp"
#include "client/failure.hpp"
#include "client/operator_view.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"

#include <gtest/gtest.h>

namespace holdfast::client {
namespace {

using namespace std::chrono_literals;
using client::testing::code;

engines::opened_store limited(const std::string& name) {
  auto opened = testing::memory("limits_" + name);
  opened.ttl_limit = 10s;
  return opened;
}

TEST(store_limits, no_session_asks_for_more_than_the_store_allows) {
  const auto store = store_core::on(limited("most"), 30s, 1h);
  EXPECT_EQ(store->ttl_limit(), 10s);
  EXPECT_EQ(code(session_core::open(store, {.ttl = 11s})), errc::invalid_argument);
  EXPECT_TRUE(session_core::open(store, {.ttl = 10s}));
}

TEST(store_limits, the_default_ttl_fits_the_store) {
  EXPECT_EQ(store_core::on(limited("default"), 30s, 1h)->default_ttl(), 10s);
  EXPECT_EQ(store_core::on(limited("short"), 5s, 1h)->default_ttl(), 5s);
  EXPECT_EQ(store_core::on(limited("strict"), 2s, 3s)->ttl_limit(), 3s);
}

TEST(store_limits, a_ttl_that_the_url_names_is_refused_rather_than_made_shorter) {
  const auto opened = limited("named");
  EXPECT_TRUE(store_core::check_ttl(10s, opened));
  EXPECT_TRUE(store_core::check_ttl(std::nullopt, opened));
  const auto refused = store_core::check_ttl(11s, opened);
  ASSERT_EQ(code(refused), errc::invalid_argument);
  EXPECT_NE(refused.error().message().find("10s"), std::string::npos) << refused.error().message();
  EXPECT_TRUE(store_core::check_ttl(1h, testing::memory("limits_none")));
}

TEST(store_limits, a_limit_below_the_shortest_ttl_is_what_is_told) {
  auto opened = limited("below");
  opened.ttl_floor = 20s;
  opened.ttl_floor_reason = "a server may take 10s";
  const auto s = session_core::open(store_core::on(opened, 30s, 1h), {});
  ASSERT_EQ(code(s), errc::invalid_argument);
  EXPECT_NE(
      s.error().message().find("no ttl is long enough: the shortest is 20s: a server may take "
                               "10s; and the longest is 10s, the max_ttl"),
      std::string::npos)
      << s.error().message();
}

/// Its records know a limit that nobody reads before a session is opened.
class limiting_engine final : public testing::wrapped_engine {
 public:
  using wrapped_engine::wrapped_engine;
  void open(const core::open_request& r, core::on<core::open_reply> d) override {
    if (r.draft.ttl <= 4s) return wrapped_engine::open(r, std::move(d));
    core::open_reply no;
    no.what = core::status::invalid;
    no.text = "the records say 4s";
    no.ttl_limit = 4s;
    d(no);
  }
};

engines::opened_store limiting(const std::string& name) {
  auto opened = testing::memory("limits_" + name);
  opened.engine = std::make_shared<limiting_engine>(opened.engine);
  return opened;
}

TEST(store_limits, a_ttl_that_nobody_chose_becomes_the_longest_that_the_records_allow) {
  const auto store = store_core::on(limiting("records"), 30s, 1h);
  const auto s = session_core::open(store, {});
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_EQ((*s)->ttl(), 4s);
  const auto chosen = session_core::open(store, {.ttl = 5s});
  ASSERT_EQ(code(chosen), errc::invalid_argument);
  EXPECT_NE(chosen.error().message().find("the records say 4s"), std::string::npos);
  const auto shorter = session_core::open(store, {.ttl = 5s}, may_be_shorter::yes);
  ASSERT_TRUE(shorter);
  EXPECT_EQ((*shorter)->ttl(), 4s);
  const auto named = store_core::on(limiting("named_too"), 30s, 1h, true);
  EXPECT_EQ(code(session_core::open(named, {})), errc::invalid_argument) << "by the URL";
  auto floor = limiting("floor_too");
  floor.ttl_floor = 6s;
  EXPECT_EQ(code(session_core::open(store_core::on(floor, 30s, 1h), {})), errc::invalid_argument);
}

TEST(store_limits, a_ttl_below_the_floor_of_the_store_is_refused_with_the_reason) {
  auto opened = testing::memory("limits_floor");
  opened.ttl_floor = 4s;
  opened.ttl_floor_reason = "a beat takes that long";
  EXPECT_TRUE(store_core::check_ttl(4s, opened));
  const auto named = store_core::check_ttl(3999ms, opened);
  ASSERT_EQ(code(named), errc::invalid_argument);
  EXPECT_NE(named.error().message().find("4s: a beat takes"), std::string::npos)
      << named.error().message();
  const auto store = store_core::on(opened, 2s, 1h);
  EXPECT_EQ(store->default_ttl(), 4s) << "nobody asked for the shorter one by name";
  EXPECT_TRUE(session_core::open(store, {.ttl = 4s}));
  const auto asked = session_core::open(store, {.ttl = 3s});
  ASSERT_EQ(code(asked), errc::invalid_argument);
  EXPECT_NE(asked.error().message().find("a beat takes"), std::string::npos)
      << asked.error().message();
}

TEST(store_limits, a_store_may_say_that_no_session_of_it_can_be_broken) {
  auto opened = testing::memory("limits_break");
  opened.cannot_break = "it has no life locks";
  const auto store = store_core::on(opened, 30s, 1h);
  const auto s = session_core::open(store, {});
  ASSERT_TRUE(s);
  operator_view view(store);
  const auto broken = view.break_session((*s)->id());
  ASSERT_EQ(code(broken), errc::unsupported);
  EXPECT_NE(broken.error().message().find("no life locks"), std::string::npos);
  EXPECT_EQ(code(view.break_session(session_id{})), errc::unsupported) << "whoever is there";
}

TEST(store_limits, who_waits_for_a_change_leaves_a_large_store_alone_most_of_the_time) {
  auto opened = testing::memory("limits_large");
  const auto large = std::make_shared<testing::wrapped_engine>(opened.engine);
  large->before_listing = [] { std::this_thread::sleep_for(100ms); };
  opened.engine = large;
  operator_view view(store_core::on(opened, 30s, 1h));
  const auto seen = view.list();
  ASSERT_TRUE(seen);
  EXPECT_GE(seen->rest, 500ms) << "nine times 100 ms, and it was shown since";
  large->listings = 0;
  EXPECT_FALSE(*view.wait_for_change(100ms, {}));
  EXPECT_EQ(large->listings, 0) << "it was listed less than 900 ms before";
  // A machine that is busy makes the store seem larger.
  const duration long_enough = seen->rest + 400ms;
  EXPECT_FALSE(*view.wait_for_change(long_enough, {}));
  EXPECT_GE(large->listings, 1);
  EXPECT_LE(large->listings, long_enough / 900ms + 1) << "one each second, and not each 150 ms";
  large->listings = 0;
  EXPECT_FALSE(*view.wait_for_change(0ns, {}));
  EXPECT_EQ(large->listings, 1);
}

TEST(store_limits, a_store_that_stood_still_once_is_no_large_one) {
  auto opened = testing::memory("limits_stall");
  const auto engine = std::make_shared<testing::wrapped_engine>(opened.engine);
  opened.engine = engine;
  operator_view view(store_core::on(opened, 30s, 1h));
  ASSERT_TRUE(view.list());
  engine->before_listing = [] { std::this_thread::sleep_for(300ms); };
  EXPECT_LT(view.list()->rest, 2700ms);
  engine->before_listing = [] {};
  engine->listings = 0;
  EXPECT_FALSE(*view.wait_for_change(1s, {}));
  EXPECT_GE(engine->listings, 1) << "it rests 9 times 300 ms";
}

TEST(store_limits, what_the_store_did_not_need_for_a_listing_is_no_reason_to_rest) {
  auto opened = testing::memory("limits_needed");
  const auto engine = std::make_shared<testing::wrapped_engine>(opened.engine);
  opened.engine = engine;
  engine->before_listing = [] { std::this_thread::sleep_for(300ms); };
  operator_view waits(store_core::on(opened, 30s, 1h));
  EXPECT_GE(waits.list()->rest, 2s);
  engine->needed = 1ms;
  operator_view view(store_core::on(opened, 30s, 1h));
  EXPECT_EQ(view.list()->rest, 50ms);
}

TEST(failure, of_what_cannot_be_done_as_asked_is_an_invalid_argument) {
  const core::reply r{core::status::invalid, "the engine's words"};
  const auto e = failure(r, "deny", "memory:x");
  EXPECT_EQ(e.code(), errc::invalid_argument);
  EXPECT_NE(e.message().find("the engine's words"), std::string::npos);
  EXPECT_FALSE(e.needs_operator());
}

TEST(failure, tells_that_a_person_has_to_act) {
  core::reply r{core::status::unavailable, "run something"};
  EXPECT_FALSE(failure(r, "deny", "memory:x").needs_operator());
  r.needs_operator = true;
  const auto e = failure(r, "deny", "memory:x");
  EXPECT_TRUE(e.needs_operator());
  EXPECT_EQ(e.code(), errc::unavailable);
  EXPECT_EQ(e.reworded("other words").message(), "other words");
  EXPECT_TRUE(e.reworded("other words").needs_operator());
  EXPECT_TRUE(failure({core::status::damaged, {}}, "deny", "memory:x").needs_operator());
  EXPECT_TRUE(failure({core::status::not_initialised, {}}, "deny", "memory:x").needs_operator());
}

}  // namespace
}  // namespace holdfast::client
