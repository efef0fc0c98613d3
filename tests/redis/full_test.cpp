#include "tests/redis/store.hpp"

/// A server at its `maxmemory` that evicts nothing: what is there goes on, and nothing more comes.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;

void fill(server& s) { s.command({"CONFIG", "SET", "maxmemory", "1"}); }

struct full : store_test {
  static std::string durable(server& s) {
    return s.command({"HGET", "holdfast:store", "durable"}).text;
  }
};

TEST_F(full, refuses_acquires_and_lets_go_of_what_is_held) {
  server s;
  const auto o = open(url(s));
  member m(ask(o));
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  fill(s);
  const auto v = m.enqueue("b");
  EXPECT_EQ(v.what, status::unavailable);
  EXPECT_NE(v.text.find("OOM"), std::string::npos) << v.text;
  EXPECT_EQ(ask(o).open(conformance::draft_of(conformance::fresh_id())).what, status::unavailable);
  EXPECT_EQ(m.leave("a", held.mine).what, status::ok);
  EXPECT_EQ(m.leave_unknown("b", m.last_request()).what, status::ok) << "though it is not there";
  EXPECT_EQ(m.close().what, status::ok);
}

TEST_F(full, renews_who_is_there_and_gives_a_lock_to_who_waits) {
  server s;
  const auto o = open(url(s));
  member holder(ask(o)), waiter(ask(o));
  const auto held = holder.enqueue("a");
  const auto waiting = waiter.enqueue("a");
  ASSERT_EQ(waiting.what, status::queued);
  fill(s);
  for (int i = 0; i < 3; ++i) {
    const auto b = holder.beat();
    EXPECT_EQ(b.what, status::ok) << b.text;
  }
  EXPECT_EQ(holder.leave("a", held.mine).what, status::ok);
  // By another client: no message has told it.
  const auto elsewhere = open(url(s, "&node_timeout=900ms"));
  const auto v = ask(elsewhere).confirm(
      {.name = lock_name("a"), .id = waiter.id(), .inc = waiter.inc(), .order = waiting.mine});
  EXPECT_EQ(v.what, status::ok) << v.text;
  EXPECT_EQ(waiter.beat().what, status::ok);
}

TEST_F(full, denies_who_holds_and_who_waits) {
  server s;
  const auto o = open(url(s));
  member holder(ask(o)), waiter(ask(o)), last(ask(o));
  const auto held = holder.enqueue("a");
  waiter.enqueue("a");
  const auto behind = last.enqueue("a");
  fill(s);
  for (member* m : {&waiter, &holder}) {
    const auto denied = ask(o).deny({m->id(), "me", "why"});
    EXPECT_EQ(denied.what, status::ok) << denied.text;
    EXPECT_EQ(m->beat().what, status::denied);
  }
  EXPECT_EQ(ask(o).take({holder.id(), holder.record().at}).what, status::ok);
  EXPECT_EQ(last.confirm("a", behind.mine).what, status::ok);
}

TEST_F(full, is_used_on_when_it_syncs_less_than_its_record_says) {
  server s({.append_only = true, .fsync = "always"});
  const auto o = open(url(s));
  member m(ask(o));
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  ASSERT_EQ(durable(s), "1");
  fill(s);
  s.command({"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"});
  EXPECT_TRUE(process::eventually([&] { return durable(s) == "0"; })) << "it is in its record";
  EXPECT_EQ(ask(o).list().locks.size(), 1U);
  EXPECT_EQ(m.beat().what, status::ok);
  EXPECT_EQ(m.leave("a", held.mine).what, status::ok);
}

TEST_F(full, is_used_on_after_a_restart_that_lost_nothing) {
  server s({.append_only = true, .fsync = "always", .settings = {"--maxmemory", "1"}});
  s.command({"CONFIG", "SET", "maxmemory", "0"});
  const auto o = open(url(s));
  member m(ask(o));
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  s.kill();
  s.start();
  EXPECT_TRUE(process::eventually([&] { return m.beat().what == status::ok; }));
  EXPECT_EQ(m.leave("a", held.mine).what, status::ok);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
