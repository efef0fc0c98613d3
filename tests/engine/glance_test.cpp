#include "tests/engine/conformance.hpp"

#include <algorithm>
#include <set>

/// glance: single records, and some that the engine chooses.

namespace holdfast::conformance {
namespace {

using core::status;

class engine_glance : public engine_test {
 protected:
  core::glance_reply look_at(const std::vector<session_id>& whom, bool whole = true) {
    core::glance_request r;
    r.whom = whom;
    r.whole = whole;
    return ask().glance(r);
  }
};
INSTANTIATE_TEST_SUITE_P(on, engine_glance, testing::ValuesIn(built_engines()), kind_name);

TEST_P(engine_glance, shows_the_records_that_are_named_as_list_does) {
  auto a = join(), b = join(), c = join(std::chrono::milliseconds{1234});
  a.beat();
  ask().deny({b.id(), "op", "why"});
  c.leave_unknown("x", 99);
  const auto seen = look_at({a.id(), b.id(), c.id()});
  ASSERT_EQ(seen.what, status::ok) << seen.text;
  ASSERT_EQ(seen.there.size(), 3U);
  for (const auto& listed : ask().list().sessions) {
    const auto at = std::ranges::find(seen.there, listed.id, &core::session_record::id);
    ASSERT_NE(at, seen.there.end());
    EXPECT_EQ(at->at, listed.at);
    EXPECT_EQ(at->ttl, listed.ttl);
    EXPECT_EQ(at->gate, listed.gate);
    EXPECT_EQ(at->where, listed.where);
    EXPECT_EQ(at->owner.program, listed.owner.program);
    EXPECT_EQ(at->owner.host, listed.owner.host);
    EXPECT_EQ(at->owner.pid, listed.owner.pid);
    EXPECT_EQ(at->opened, listed.opened);
    EXPECT_EQ(at->denied_by, listed.denied_by);
    EXPECT_EQ(at->denied_why, listed.denied_why);
  }
}

TEST_P(engine_glance, version_ttl_and_place_are_enough_for_who_asks_for_no_more) {
  auto a = join(std::chrono::milliseconds{1234});
  a.beat();
  const auto seen = look_at({a.id()}, false);
  ASSERT_EQ(seen.what, status::ok) << seen.text;
  ASSERT_EQ(seen.there.size(), 1U);
  EXPECT_EQ(seen.there[0].id, a.id());
  EXPECT_EQ(seen.there[0].at, a.record().at);
  EXPECT_EQ(seen.there[0].ttl, std::chrono::milliseconds{1234});
  EXPECT_EQ(seen.there[0].where, a.record().where);
}

TEST_P(engine_glance, who_is_not_there_is_not_shown) {
  auto a = join(), b = join();
  b.close();
  const auto seen = look_at({fresh_id(), a.id(), b.id()});
  ASSERT_EQ(seen.what, status::ok) << seen.text;
  ASSERT_EQ(seen.there.size(), 1U);
  EXPECT_EQ(seen.there[0].id, a.id());
  EXPECT_EQ(look_at({}).what, status::ok);
}

TEST_P(engine_glance, a_version_that_it_shows_can_be_taken_until_the_next_beat) {
  auto a = join(), b = join();
  const auto seen = look_at({a.id(), b.id()}, false);
  ASSERT_EQ(seen.there.size(), 2U);
  b.beat();
  for (const auto& s : seen.there) {
    EXPECT_EQ(ask().take({s.id, s.at}).what, s.id == a.id() ? status::ok : status::changed);
  }
}

TEST_P(engine_glance, as_many_as_are_allowed_at_once) {
  std::vector<member> all;
  std::vector<session_id> whom;
  for (std::size_t i = 0; i < core::glance_max; ++i) whom.push_back(all.emplace_back(join()).id());
  EXPECT_EQ(look_at(whom).there.size(), core::glance_max);
}

TEST_P(engine_glance, whose_dead_stay_shows_every_one_in_time_and_never_more_than_is_asked) {
  if (!ask().engine().keeps_dead()) GTEST_SKIP() << "nobody has to look after them";
  std::vector<member> all;
  for (int i = 0; i < 40; ++i) all.push_back(join());
  ask().deny({all[3].id(), "op", "why"});
  all[4].beat();
  std::set<session_id> seen;
  for (int i = 0; i < 2000 && seen.size() < all.size(); ++i) {
    core::glance_request r;
    r.others = 8;
    // Real ids are spread over all that there may be, those of this test are close together.
    r.from = all[static_cast<std::size_t>(i * 7) % all.size()].id();
    r.whole = false;
    const auto reply = ask().glance(r);
    ASSERT_EQ(reply.what, status::ok) << reply.text;
    ASSERT_LE(reply.there.size(), 8U);
    ASSERT_GE(reply.there.size(), 1U);
    for (const auto& s : reply.there) {
      seen.insert(s.id);
      const auto m = std::ranges::find_if(all, [&](const member& x) { return x.id() == s.id; });
      ASSERT_NE(m, all.end());
      const bool has_beaten = s.id == all[4].id(), is_denied = s.id == all[3].id();
      ASSERT_EQ(s.at.denied, is_denied);
      ASSERT_EQ(s.at == m->opened_at(), !has_beaten && !is_denied);
    }
  }
  EXPECT_EQ(seen.size(), all.size());
}

}  // namespace
}  // namespace holdfast::conformance
