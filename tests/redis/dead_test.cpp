#include "client/store_core.hpp"
#include "core/patrol.hpp"
#include "tests/redis/store.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <algorithm>
#include <set>

/// Records of sessions that died where nobody looks, and how many of them may lie there.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;

class dead : public store_test {
 protected:
  /// Sessions that nobody will ever beat for, each with a lock.
  static std::vector<session_id> leave_behind(const engines::opened_store& o, std::size_t count,
                                              duration ttl = 30s) {
    std::vector<session_id> all;
    for (std::size_t i = 0; i < count; ++i) {
      member m(ask(o), ttl);
      all.push_back(m.id());
      EXPECT_EQ(m.enqueue("n" + std::to_string(i)).what, status::ok);
    }
    return all;
  }
  static std::int64_t records(server& s) {
    const auto nonce = s.command({"HGET", "holdfast:store", "nonce"}).text;
    return s.command({"SCARD", "holdfast:" + nonce + ":sessions"}).integer;
  }
};

TEST_F(dead, those_of_another_host_go_though_nobody_waits_for_their_locks) {
  server s;
  const auto o = open(url(s));
  leave_behind(o, 40, 300ms);
  const auto session = holdfast::open(url(s), {.ttl = 10s});
  ASSERT_TRUE(session) << session.error().message();
  EXPECT_TRUE(process::eventually([&] { return records(s) == 1; }, 60s)) << records(s);
  EXPECT_EQ(session->status().state, session_state::attached);
  EXPECT_TRUE(process::eventually([&] {
    return s.command({"KEYS", "holdfast:*:x:*"}).elements.empty();
  })) << "and so do their entries";
}

TEST_F(dead, those_that_beat_stay_however_long_others_look) {
  server s;
  std::vector<session> living;
  for (int i = 0; i < 5; ++i) {
    // Each in a process of its own, as far as the engine knows.
    auto one =
        holdfast::open(url(s, "&node_timeout=" + std::to_string(900 + i) + "ms"), {.ttl = 3s});
    ASSERT_TRUE(one) << one.error().message();
    living.push_back(std::move(*one));
  }
  std::this_thread::sleep_for(13s);
  EXPECT_EQ(records(s), 5);
  for (auto& one : living) EXPECT_EQ(one.status().state, session_state::attached);
}

TEST_F(dead, what_a_round_costs_does_not_grow_with_the_sessions_of_a_process) {
  server s;
  const auto o = open(url(s));
  leave_behind(o, 200);
  std::vector<session> living;
  for (int i = 0; i < 20; ++i) {
    auto one = holdfast::open(url(s), {.ttl = 1500ms});
    ASSERT_TRUE(one) << one.error().message();
    living.push_back(std::move(*one));
  }
  s.command({"CONFIG", "RESETSTAT"});
  std::this_thread::sleep_for(6s);
  const auto rounds = s.calls("srandmember");
  EXPECT_GE(rounds, 1);
  EXPECT_LE(rounds, 2) << "one in each pause of 5 s";
}

TEST_F(dead, a_name_without_a_record_is_struck_off) {
  server s;
  const auto o = open(url(s));
  const auto left = leave_behind(o, 3);
  const auto nonce = s.command({"HGET", "holdfast:store", "nonce"}).text;
  s.command({"DEL", "holdfast:" + nonce + ":session:" + left[1].str()});
  EXPECT_EQ(records(s), 3);
  core::glance_request r;
  r.others = 3;
  EXPECT_EQ(ask(o).glance(r).there.size(), 2U);
  EXPECT_EQ(records(s), 2);
}

TEST_F(dead, a_record_that_is_not_whole_is_not_shown_and_not_touched) {
  server s;
  const auto o = open(url(s));
  const auto left = leave_behind(o, 2);
  const auto nonce = s.command({"HGET", "holdfast:store", "nonce"}).text;
  const std::string key = "holdfast:" + nonce + ":session:" + left[1].str();
  core::glance_request r;
  r.whom = left;
  r.others = 2;
  r.whole = false;
  const auto expect_hidden = [&](const std::string& how) {
    const auto seen = ask(o).glance(r);
    EXPECT_EQ(seen.there.size(), 2U) << how << ": the other one, twice";
    for (const auto& shown : seen.there) EXPECT_EQ(shown.id, left[0]) << how;
    EXPECT_EQ(records(s), 2) << how;
  };
  const std::vector<std::string> fields{"inc", "beat", "denied", "ttl"};
  for (const auto& missing : fields) {
    const auto was = s.command({"HGET", key, missing}).text;
    s.command({"HDEL", key, missing});
    expect_hidden("without " + missing);
    s.command({"HSET", key, missing, was});
  }
  s.command({"HSET", key, "ttl", "99999999"});
  expect_hidden("with a ttl that none may have");
  for (const auto& only : fields) {
    s.command({"DEL", key});
    s.command({"HSET", key, only, "1"});
    expect_hidden("with nothing but " + only);
  }
}

TEST_F(dead, thousands_are_listed_page_by_page) {
  server s;
  const auto o = open(url(s, "&node_timeout=10s"));
  const auto left = leave_behind(o, 3000);
  s.command({"CONFIG", "RESETSTAT"});
  const auto all = ask(o).list();
  ASSERT_EQ(all.what, status::ok) << all.text;
  EXPECT_EQ(all.sessions.size(), left.size());
  EXPECT_EQ(all.locks.size(), left.size());
  std::set<session_id> shown;
  for (const auto& one : all.sessions) shown.insert(one.id);
  EXPECT_EQ(shown, std::set<session_id>(left.begin(), left.end()));
  EXPECT_GE(s.calls("evalsha"), 10);
  EXPECT_LE(s.calls("evalsha"), 15) << "250 in each, a little more or less";
}

TEST_F(dead, a_few_are_one_picture_in_one_script) {
  server s;
  const auto o = open(url(s, "&node_timeout=10s"));
  leave_behind(o, 250);
  s.command({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(ask(o).list().sessions.size(), 250U);
  EXPECT_EQ(s.calls("evalsha"), 1);
}

TEST_F(dead, sessions_with_many_locks_come_on_pages_of_their_own) {
  server s;
  const auto o = open(url(s, "&node_timeout=10s"));
  std::vector<member> all;
  for (int i = 0; i < 4; ++i) {
    auto& m = all.emplace_back(ask(o));
    for (int k = 0; k < 1500; ++k) {
      ASSERT_EQ(m.enqueue(std::to_string(i) + "." + std::to_string(k)).what, status::ok);
    }
  }
  s.command({"CONFIG", "RESETSTAT"});
  const auto shown = ask(o).list();
  ASSERT_EQ(shown.what, status::ok) << shown.text;
  EXPECT_EQ(shown.sessions.size(), 4U);
  EXPECT_EQ(shown.locks.size(), 6000U);
  EXPECT_EQ(s.calls("evalsha"), 4);
}

TEST_F(dead, one_with_more_locks_than_fit_a_page_is_a_page) {
  server s;
  const auto o = open(url(s, "&node_timeout=10s"));
  member m(ask(o));
  for (int k = 0; k < 2001; ++k) ASSERT_EQ(m.enqueue(std::to_string(k)).what, status::ok);
  s.command({"CONFIG", "RESETSTAT"});
  const auto shown = ask(o).list();
  ASSERT_EQ(shown.what, status::ok) << shown.text;
  EXPECT_EQ(shown.locks.size(), 2001U);
  EXPECT_EQ(s.calls("evalsha"), 1);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
