#include "tests/redis/store.hpp"

/// Servers and data that cannot be used: each is named, with what to do.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;

class bad_input : public store_test {
 protected:
  static void expect(const core::reply& r, const std::string& part) {
    EXPECT_NE(r.text.find(part), std::string::npos) << r.text;
  }
};

TEST_F(bad_input, a_server_that_is_not_there_is_named) {
  const auto began = std::chrono::steady_clock::now();
  const auto r = await(open("redis://127.0.0.1:1"), status::unavailable);
  expect(r, "127.0.0.1:1");
  expect(r, "refused");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
}

TEST_F(bad_input, a_password_that_is_missing_or_wrong_is_refused) {
  server s({.settings = {"--requirepass", "secret"}});
  expect(await(open(url(s)), status::unavailable), "password_file=");
  const std::string wrong = "redis://:other@" + s.address();
  const auto refused = await(open(wrong), status::unavailable);
  expect(refused, "WRONGPASS");
  EXPECT_TRUE(refused.needs_operator);
}

TEST_F(bad_input, a_password_that_is_right_again_is_found) {
  server s({.users = "user default on nopass ~* &* +@all\n"
                     "user bob on >secret ~* &* +@all\n"});
  const auto o = open("redis://bob:other@" + s.address() + "?assume_fresh=yes");
  EXPECT_TRUE(await(o, status::unavailable).needs_operator);
  s.command({"ACL", "SETUSER", "bob", ">other"});
  await(o, status::ok);
}

TEST_F(bad_input, a_port_that_does_not_speak_tls_is_refused) {
  server s;
  const auto r =
      await(open("redis+tls://" + s.address() + "?node_timeout=500ms"), status::unavailable);
  expect(r, s.address());
  expect(r, "TLS");
}

TEST_F(bad_input, whom_the_last_token_refuses_changes_nothing_for_who_holds) {
  server s;
  const auto o = open(url(s));
  member holder(ask(o));
  s.command({"HSET", "holdfast:store", "floor", "9007199254740990"});
  ASSERT_EQ(holder.enqueue("a").mine.value, 9007199254740991U);
  expect(holder.attempt("b"), "the tokens of this store are used up");
  EXPECT_EQ(s.command({"HGET", "holdfast:store", "floor"}).text, "9007199254740991");
  EXPECT_EQ(holder.beat().what, status::ok);
}

TEST_F(bad_input, a_floor_that_no_token_reached_is_not_believed) {
  server s;
  const auto kept = [&s](const char* what) {
    return s.command({"HGET", "holdfast:store", what}).text;
  };
  await(open(url(s)), status::ok);
  s.command({"HSET", "holdfast:store", "floor", "9054515202438576"});
  for (int i = 0; i < 2; ++i) expect(await(open(url(s)), status::unavailable), "lost its state");
  const std::string life = kept("nonce");
  EXPECT_LT(std::stoull(kept("floor")), 9'000'000'000'000'000U) << "the clock's, as of a new store";
  expect(await(open(url(s)), status::unavailable), "lost its state");
  EXPECT_EQ(kept("nonce"), life) << "and it is replaced once";
}

TEST_F(bad_input, long_texts_in_a_record_end_no_connection) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member denied(a), other(a);
  const std::string life = s.command({"HGET", "holdfast:store", "nonce"}).text;
  const std::string record = "holdfast:" + life + ":session:";
  const std::string text(70'000, 'x');
  s.command(
      {"HSET", record + denied.id().str(), "denied", "1", "denied_by", text, "denied_why", text});
  const auto told = denied.beat();
  EXPECT_EQ(told.what, status::denied);
  EXPECT_LT(told.text.size(), 1'000U);
  s.command({"HSET", record + other.id().str(), "gate", text});
  EXPECT_NE(other.attempt("a").what, status::unavailable);
  EXPECT_EQ(other.beat().what, status::ok) << "and no connection was made anew";
}

TEST_F(bad_input, a_user_that_may_only_read_is_refused) {
  server s({.users = "user default on nopass ~* &* +@all\n"
                     "user reader on >secret ~* &* +@read +@connection +@scripting +info +time\n"});
  const auto r = await(open("redis://reader:secret@" + s.address()), status::unavailable);
  EXPECT_TRUE(r.needs_operator);
  expect(r, "its record cannot be written");
  expect(r, "(allow +unlink: docs/redis.md, \"Access\")");
}

TEST_F(bad_input, a_user_that_may_not_use_its_keys_is_refused) {
  server s({.users = "user default on nopass ~* &* +@all\n"
                     "user other on >secret ~other:* &* +@all\n"});
  const auto r = await(open("redis://other:secret@" + s.address()), status::unavailable);
  expect(r, " on the key (allow this key by a ~PATTERN: docs/redis.md, \"Access\")");
}

TEST_F(bad_input, a_record_of_a_newer_format_is_refused) {
  server s;
  await(open(url(s)), status::ok);
  s.command({"HSET", "holdfast:store", "format", "2"});
  expect(await(open(url(s, "&node_timeout=900ms")), status::unsupported), "format 2");
}

TEST_F(bad_input, foreign_data_under_the_store_s_key_is_left_alone) {
  server s;
  s.command({"SET", "holdfast:store", "mine"});
  expect(await(open(url(s)), status::unavailable), "WRONGTYPE");
  EXPECT_EQ(s.command({"GET", "holdfast:store"}).text, "mine") << "it was not touched";
}

TEST_F(bad_input, foreign_data_in_a_queue_is_damage) {
  server s;
  const auto o = open(url(s));
  member m(ask(o)), other(ask(o));
  ASSERT_EQ(m.enqueue("a").what, status::ok);
  const auto key = s.command({"KEYS", "holdfast:*:x:a"}).elements.at(0).text;
  s.command({"ZADD", key, "1", "foreign"});
  EXPECT_EQ(other.enqueue("a").what, status::damaged);
  s.command({"DEL", key});
  s.command({"SET", key, "foreign"});
  EXPECT_EQ(other.enqueue("a").what, status::damaged);
}

TEST_F(bad_input, a_session_record_with_a_ttl_that_none_may_have_is_damage) {
  server s;
  const auto o = open(url(s));
  member holder(ask(o)), waiter(ask(o)), other(ask(o));
  ASSERT_EQ(holder.enqueue("a").what, status::ok);
  const auto mine = waiter.enqueue("a");
  ASSERT_EQ(mine.what, status::queued);
  const auto id = holder.id().str();
  const auto key = s.command({"KEYS", "holdfast:*:session:" + id}).elements.at(0).text;
  for (const auto* ttl : {"0", "-1", "99999999", "3600000000001", "soon"}) {
    s.command({"HSET", key, "ttl", ttl});
    const auto listed = ask(o).list();
    const std::vector<core::reply> told{other.enqueue("a"), other.attempt("a"),
                                        waiter.confirm("a", mine.mine), listed,
                                        ask(o).deny({holder.id(), "me", "why"})};
    for (std::size_t i = 0; i < told.size(); ++i) {
      EXPECT_EQ(told[i].what, status::damaged) << i << ' ' << ttl << ": " << told[i].text;
      EXPECT_NE(told[i].text.find("session " + id), std::string::npos) << told[i].text;
    }
  }
  s.command({"HSET", key, "ttl", "3600000000000"});
  const auto after = ask(o).list();
  ASSERT_EQ(after.what, status::ok) << after.text;
  ASSERT_EQ(after.locks.size(), 1U);
  EXPECT_EQ(after.locks[0].entries.size(), 2U) << "who was refused left no entry";
}

// Its length alone would end the connection, and with it what others have under way there.
TEST_F(bad_input, a_session_record_of_600_kB_is_damage_and_costs_nobody_the_connection) {
  server s;
  const auto o = open(url(s));
  member holder(ask(o)), waiter(ask(o)), other(ask(o));
  ASSERT_EQ(holder.enqueue("a").what, status::ok);
  const auto mine = waiter.enqueue("a");
  ASSERT_EQ(mine.what, status::queued);
  const auto id = holder.id().str();
  const auto key = s.command({"KEYS", "holdfast:*:session:" + id}).elements.at(0).text;
  const auto connected = [&] {
    const std::string all = s.command({"INFO", "stats"}).text;
    const std::string name = "total_connections_received:";
    return all.substr(all.find(name), all.find('\r', all.find(name)) - all.find(name));
  };
  for (const std::string field : {"label", "device"}) {
    const auto before = connected();
    const auto kept = s.command({"HGET", key, field}).text;
    s.command({"HSET", key, field, std::string(600'000, 'x')});
    const std::vector<core::reply> told{other.enqueue("a"), other.attempt("a"),
                                        waiter.confirm("a", mine.mine), ask(o).list(),
                                        ask(o).glance({.whom = {holder.id()}})};
    for (std::size_t i = 0; i < told.size(); ++i) {
      EXPECT_EQ(told[i].what, status::damaged) << i << ' ' << field << ": " << told[i].text;
      expect(told[i], "session " + id);
      expect(told[i], "4096 bytes");
    }
    const auto brief = ask(o).glance({.whom = {holder.id()}, .whole = false});
    EXPECT_EQ(brief.what, status::ok) << brief.text;
    EXPECT_EQ(brief.there.empty(), field == "device") << "a label is not asked for";
    EXPECT_EQ(holder.beat().what, status::ok) << "its owner is not told of it";
    EXPECT_EQ(connected(), before);
    s.command({"HSET", key, field, kept});
  }
  EXPECT_EQ(other.enqueue("a").what, status::queued);
}

TEST_F(bad_input, a_ttl_above_that_of_the_store_is_refused) {
  max_ttl = "2s";
  server s;
  const auto o = open(url(s));
  const auto r = ask(o).open(conformance::draft_of(conformance::fresh_id(), 3s));
  EXPECT_EQ(r.what, status::invalid);
  EXPECT_EQ(r.ttl_limit, 2s);
  expect(r, "2s");
  EXPECT_EQ(ask(o).open(conformance::draft_of(conformance::fresh_id(), 2s)).what, status::ok);
}

TEST_F(bad_input, another_max_ttl_than_that_of_the_store_is_refused) {
  max_ttl = "2s";
  server s;
  await(open(url(s)), status::ok);
  max_ttl = "3s";
  expect(await(open(url(s)), status::invalid), "that of the store 2s");
}

TEST_F(bad_input, a_server_of_redis_cluster_is_refused) {
  server s({.settings = {"--cluster-enabled", "yes"}});
  expect(await(open(url(s)), status::unavailable), "cluster");
}

TEST_F(bad_input, a_stopped_server_is_an_unknown_outcome_in_bounded_time) {
  server s;
  const auto o = open(url(s, "&node_timeout=1s"));
  member m(ask(o));
  s.stop();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(m.enqueue("a").what, status::unknown);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 15s);
  s.resume();
  EXPECT_TRUE(process::eventually([&] { return m.beat().what == status::ok; }));
  // The late request has been carried out; the gate shuts it out and the entry is found.
  EXPECT_EQ(m.leave_unknown("a", m.last_request()).what, status::ok);
  EXPECT_TRUE(ask(o).list().locks.empty());
}

TEST_F(bad_input, scripts_that_were_flushed_are_loaded_again) {
  server s;
  const auto o = open(url(s));
  member m(ask(o));
  s.command({"SCRIPT", "FLUSH"});
  EXPECT_EQ(m.enqueue("a").what, status::ok);
  EXPECT_EQ(m.beat().what, status::ok);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
