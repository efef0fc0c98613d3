#include "engines/redis/admission.hpp"

#include "core/lease.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::redis {
namespace {

using namespace std::chrono_literals;

constexpr duration wait = 2s + 20ms + 2ms;
const time_point start{1h};

store_record record() {
  return {.there = true,
          .whole = true,
          .format = "1",
          .nonce = "0123456789abcdef",
          .run_id = "run-1",
          .admitted_text = "1",
          .admitted = true,
          .floor = 1000,
          .max_ttl = 2s,
          .durable = false};
}

admission::sight sight(const store_record& r, const std::string& run_id = "run-1") {
  return {.run_id = run_id, .durable = r.durable, .record = r, .known = 0, .fresh = "fresh"};
}

admission judge(bool assume_fresh = false) {
  return admission({.max_ttl = 5s, .max_ttl_given = false, .assume_fresh = assume_fresh});
}

const admission::write* written(const admission::verdict& v) {
  return std::get_if<admission::write>(&v);
}

TEST(admission, the_process_that_was_accepted_is_ready) {
  const auto v = judge().judge(sight(record()), start);
  const auto* r = std::get_if<admission::ready>(&v);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->nonce, record().nonce);
}

TEST(admission, a_server_without_a_record_gets_one_that_waits) {
  const auto v = judge().judge(sight({}), start);
  const auto* w = written(v);
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->seen, (std::array<std::string, 4>{}));
  EXPECT_EQ(w->record.nonce, "fresh");
  EXPECT_FALSE(w->record.admitted);
  EXPECT_EQ(w->record.max_ttl, 5s) << "the URL's";
}

TEST(admission, what_an_earlier_client_of_this_process_saw_counts) {
  auto r = record();
  r.admitted_text = "0";
  r.admitted = false;
  core::redlock::life_notes seen;
  seen.recall(r.nonce, start - wait);
  auto a = judge();
  EXPECT_EQ(written(a.judge(sight(r), start)), nullptr);
  auto later = judge();
  later.recall(seen);
  const auto v = later.judge(sight(r), start);
  ASSERT_NE(written(v), nullptr);
  EXPECT_TRUE(written(v)->record.admitted);
}

TEST(admission, a_server_that_was_promoted_has_the_data_of_another_one) {
  const auto v = judge().judge(sight(record(), "run-1#data-2"), start);
  const auto* w = written(v);
  ASSERT_NE(w, nullptr) << "the same process, and not what it had granted";
  EXPECT_EQ(w->record.nonce, "fresh");
  EXPECT_FALSE(w->record.admitted);
  EXPECT_EQ(w->record.run_id, "run-1#data-2");
}

TEST(admission, a_record_that_lost_the_number_of_its_database_gets_it_again) {
  auto s = sight(record());
  s.database = "3";
  const auto v = judge().judge(s, start);
  const auto* w = written(v);
  ASSERT_NE(w, nullptr) << "without it nobody would notice a SWAPDB";
  EXPECT_EQ(w->record.database, "3");
  EXPECT_EQ(w->record.nonce, record().nonce);
  EXPECT_TRUE(w->record.admitted);
}

TEST(admission, a_record_of_another_database_is_another_stores) {
  auto r = record();
  r.durable = true;
  for (const char* number : {"0", "1"}) {
    r.database = number;
    auto s = sight(r);
    s.database = "0";
    const auto v = judge().judge(s, start);
    ASSERT_EQ(written(v) != nullptr, r.database == "1");
    if (r.database != "1") continue;
    EXPECT_EQ(written(v)->record.nonce, "fresh");
    EXPECT_EQ(written(v)->record.database, "0");
    EXPECT_FALSE(written(v)->record.admitted);
  }
}

TEST(admission, another_process_that_may_have_lost_writes_begins_a_new_life) {
  for (const bool was : {false, true}) {
    for (const bool is : {false, true}) {
      auto r = record();
      r.durable = was;
      auto s = sight(r, "run-2");
      s.durable = is;
      const auto v = judge().judge(s, start);
      const auto* w = written(v);
      ASSERT_NE(w, nullptr);
      const bool kept = was && is;
      EXPECT_EQ(w->record.nonce, kept ? r.nonce : "fresh");
      EXPECT_EQ(w->record.admitted, kept);
      EXPECT_EQ(w->record.run_id, "run-2");
      EXPECT_EQ(w->record.max_ttl, 2s) << "the store's";
      EXPECT_EQ(w->seen[0], r.nonce);
      EXPECT_EQ(w->seen[1], "run-1");
      EXPECT_EQ(w->seen[2], "1");
    }
  }
}

TEST(admission, a_floor_below_a_token_that_was_given_is_an_older_state) {
  auto r = record();
  r.durable = true;
  auto s = sight(r);
  s.known = 1001;
  const auto v = judge().judge(s, start);
  const auto* w = written(v);
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->record.nonce, "fresh");
  EXPECT_EQ(w->record.floor, 1001U) << "tokens go on above it";
  s.known = 1000;
  EXPECT_TRUE(std::holds_alternative<admission::ready>(judge().judge(s, start)));
}

TEST(admission, a_record_that_is_not_whole_is_a_loss) {
  auto r = record();
  r.whole = false;
  const auto v = judge().judge(sight(r), start);
  ASSERT_NE(written(v), nullptr);
  EXPECT_EQ(written(v)->record.nonce, "fresh");
}

TEST(admission, a_new_life_is_admitted_when_its_wait_is_over_and_no_sooner) {
  auto r = record();
  r.admitted = false;
  auto a = judge();
  const auto first = a.judge(sight(r), start);
  const auto* w = std::get_if<admission::wait>(&first);
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->until, start + wait);
  EXPECT_TRUE(std::holds_alternative<admission::wait>(a.judge(sight(r), start + wait - 1ns)));
  const auto last = a.judge(sight(r), start + wait);
  ASSERT_NE(written(last), nullptr);
  EXPECT_TRUE(written(last)->record.admitted);
  EXPECT_EQ(written(last)->record.nonce, r.nonce);
}

TEST(admission, a_restart_while_it_waits_begins_the_wait_anew) {
  auto r = record();
  r.admitted = false;
  auto a = judge();
  a.judge(sight(r), start);
  const auto v = a.judge(sight(r, "run-2"), start + wait);
  ASSERT_NE(written(v), nullptr);
  EXPECT_EQ(written(v)->record.nonce, "fresh");
  EXPECT_FALSE(written(v)->record.admitted);
}

TEST(admission, notes_of_an_earlier_process_shorten_the_wait) {
  auto r = record();
  r.admitted = false;
  core::redlock::life_notes notes;
  notes.recall(r.nonce, start - 1s);
  admission a({.max_ttl = 5s}, notes);
  const auto v = a.judge(sight(r), start);
  ASSERT_TRUE(std::holds_alternative<admission::wait>(v));
  EXPECT_EQ(std::get<admission::wait>(v).until, start - 1s + wait);
}

TEST(admission, who_assumes_a_fresh_store_does_not_wait) {
  auto r = record();
  r.admitted = false;
  const auto v = judge(true).judge(sight(r), start);
  ASSERT_NE(written(v), nullptr);
  EXPECT_TRUE(written(v)->record.admitted);
}

TEST(admission, what_became_durable_or_ceased_to_be_is_recorded) {
  auto s = sight(record());
  s.durable = true;
  const auto v = judge().judge(s, start);
  ASSERT_NE(written(v), nullptr);
  EXPECT_TRUE(written(v)->record.durable);
  EXPECT_EQ(written(v)->record.nonce, record().nonce);
}

// Nothing tells what max_ttl was when the record is gone; whoever writes the next may not know it.
TEST(admission, a_new_life_has_the_max_ttl_that_the_client_saw_before) {
  for (const duration seen : {2s, 600s}) {
    auto r = record();
    r.max_ttl = seen;
    auto a = judge();
    ASSERT_TRUE(std::holds_alternative<admission::ready>(a.judge(sight(r), start)));
    const auto v = a.judge(sight({}), start + 1s);
    ASSERT_NE(written(v), nullptr);
    EXPECT_EQ(written(v)->record.max_ttl, seen);
    EXPECT_TRUE(written(v)->record.max_ttl_inherited);
  }
}

TEST(admission, who_was_served_before_is_not_advised_to_assume_that_nothing_is_held) {
  auto lost = record();
  lost.admitted = false;
  lost.nonce = "fedcba9876543210";
  auto a = judge();
  const auto before = a.judge(sight(lost), start);
  EXPECT_NE(std::get<admission::wait>(before).why.find("assume_fresh"), std::string::npos);
  auto b = judge();
  ASSERT_TRUE(std::holds_alternative<admission::ready>(b.judge(sight(record()), start)));
  const auto after = b.judge(sight(lost), start);
  EXPECT_EQ(std::get<admission::wait>(after).why.find("assume_fresh"), std::string::npos);
  EXPECT_EQ(std::get<admission::wait>(after).why.find("new"), std::string::npos);
}

TEST(admission, who_was_served_before_waits_though_it_assumed_that_nothing_was_held) {
  auto lost = record();
  lost.admitted = false;
  lost.nonce = "fedcba9876543210";
  auto fresh = judge(true);
  const auto skipped = fresh.judge(sight(lost), start);
  ASSERT_NE(written(skipped), nullptr);
  EXPECT_TRUE(written(skipped)->record.admitted);
  auto served = judge(true);
  ASSERT_TRUE(std::holds_alternative<admission::ready>(served.judge(sight(record()), start)));
  EXPECT_TRUE(std::holds_alternative<admission::wait>(served.judge(sight(lost), start)));
  const auto later = served.judge(sight(lost), start + core::takeover_after(lost.max_ttl));
  ASSERT_NE(written(later), nullptr);
  EXPECT_TRUE(written(later)->record.admitted);
}

TEST(admission, who_saw_a_longer_max_ttl_lengthens_a_wait_that_somebody_else_began) {
  auto before = record();
  before.max_ttl = 600s;
  auto a = judge();
  a.judge(sight(before), start);
  auto after = record();
  after.nonce = "fedcba9876543210";
  after.admitted = false;
  after.max_ttl = 60s;
  after.max_ttl_text = "60000000000";
  for (const bool inherited : {false, true}) {
    after.max_ttl_inherited = inherited;
    const auto v = a.judge(sight(after), start + 1s);
    ASSERT_NE(written(v), nullptr);
    EXPECT_EQ(written(v)->record.max_ttl, 600s);
    EXPECT_EQ(written(v)->record.nonce, after.nonce) << "the same life, whose first sight counts";
    EXPECT_FALSE(written(v)->record.admitted);
    EXPECT_EQ(written(v)->seen[3], after.max_ttl_text) << "compared: nobody admits what it was";
  }
}

TEST(admission, what_the_process_knew_before_counts_as_if_seen_now) {
  auto lost = record();
  lost.admitted = false;
  admission a({.max_ttl = 5s, .assume_fresh = true, .was_ready = true, .seen_max_ttl = 600s});
  const auto fresh = a.judge(sight({}), start);
  ASSERT_NE(written(fresh), nullptr);
  EXPECT_EQ(written(fresh)->record.max_ttl, 600s);
  lost.max_ttl = 600s;
  EXPECT_TRUE(std::holds_alternative<admission::wait>(a.judge(sight(lost), start)));
  EXPECT_TRUE(a.was_ready());
  EXPECT_EQ(a.seen_max_ttl(), 600s);
}

TEST(admission, a_url_lengthens_only_a_wait_whose_length_no_earlier_life_gave) {
  auto r = record();
  r.admitted = false;
  admission longer({.max_ttl = 5s, .max_ttl_given = true});
  const auto v = longer.judge(sight(r), start);
  ASSERT_NE(written(v), nullptr);
  EXPECT_EQ(written(v)->record.max_ttl, 5s);
  r.max_ttl_inherited = true;
  EXPECT_TRUE(std::holds_alternative<error>(longer.judge(sight(r), start)));
  admission shorter({.max_ttl = 1s, .max_ttl_given = true});
  r.max_ttl_inherited = false;
  EXPECT_TRUE(std::holds_alternative<error>(shorter.judge(sight(r), start)));
}

TEST(admission, a_url_changes_no_max_ttl_at_a_restart) {
  admission a({.max_ttl = 5s, .max_ttl_given = true});
  const auto v = a.judge(sight(record(), "run-2"), start);
  ASSERT_NE(written(v), nullptr);
  EXPECT_EQ(written(v)->record.max_ttl, 2s);
  EXPECT_TRUE(written(v)->record.max_ttl_inherited);
}

TEST(admission, a_life_that_is_granted_in_is_what_the_client_knows_next) {
  auto r = record();
  r.max_ttl = 600s;
  auto a = judge();
  a.judge(sight(r), start);
  r.max_ttl = 2s;
  a.judge(sight(r), start);
  EXPECT_EQ(written(a.judge(sight({}), start))->record.max_ttl, 2s);
}

TEST(admission, another_format_and_another_max_ttl_are_refused) {
  auto r = record();
  r.format = "2";
  const auto newer = judge().judge(sight(r), start);
  ASSERT_TRUE(std::holds_alternative<error>(newer));
  EXPECT_EQ(std::get<error>(newer).code(), errc::unsupported);
  admission a({.max_ttl = 5s, .max_ttl_given = true});
  const auto other = a.judge(sight(record()), start);
  ASSERT_TRUE(std::holds_alternative<error>(other));
  EXPECT_EQ(std::get<error>(other).code(), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::engines::redis
