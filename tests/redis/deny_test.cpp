#include "tests/redis/store.hpp"

/// Denied sessions keep what they hold until their record falls, and wait for nothing any more.

namespace holdfast::redis_engine_tests {
namespace {

class deny : public store_test {};

TEST_F(deny, a_denied_waiter_is_skipped) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member holder(a), denied(a), next(a);
  const auto held = holder.enqueue("a");
  ASSERT_EQ(denied.enqueue("a").what, status::queued);
  const auto mine = next.enqueue("a");
  ASSERT_EQ(mine.what, status::queued);
  std::atomic<int> told{0};
  auto watch = o.engine->watch({lock_name("a"), mine.mine, mine.targets}, [&] { ++told; });
  a.deny({denied.id(), "op", "hangs"});
  EXPECT_TRUE(process::eventually([&] { return told > 0; })) << "its target is gone";
  EXPECT_EQ(next.confirm("a", mine.mine).what, status::queued);
  holder.leave("a", held.mine);
  EXPECT_EQ(next.confirm("a", mine.mine).what, status::ok);
  EXPECT_EQ(denied.close().what, status::ok);
}

TEST_F(deny, what_a_denied_session_waits_for_is_not_listed_though_it_is_not_swept_yet) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member holder(a), denied(a);
  ASSERT_EQ(holder.enqueue("a").what, status::ok);
  ASSERT_EQ(denied.enqueue("a").what, status::queued);
  ASSERT_EQ(denied.enqueue("b").what, status::ok);
  EXPECT_EQ(a.list().locks.at(0).entries.size(), 2U);
  // All that deny() writes before its sweep.
  const auto key = s.command({"KEYS", "holdfast:*:session:" + denied.id().str()}).elements.at(0);
  s.command({"HSET", key.text, "denied", "1", "denied_by", "op", "denied_why", "hangs"});
  const auto listed = a.list();
  ASSERT_EQ(listed.locks.size(), 2U) << listed.text;
  ASSERT_EQ(listed.locks[0].entries.size(), 1U);
  EXPECT_EQ(listed.locks[0].entries[0].owner, holder.id());
  EXPECT_EQ(listed.locks[1].entries.size(), 1U) << "what it holds counts until it ends";
}

TEST_F(deny, one_that_was_granted_and_not_told_is_skipped_too) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member holder(a), next(a);
  const auto held = holder.enqueue("a");
  session_id deaf;
  {
    member denied(ask(open(url(s, "&node_timeout=900ms"))));
    deaf = denied.id();
    ASSERT_EQ(denied.enqueue("a").what, status::queued);
  }
  ASSERT_TRUE(process::eventually([&] {
    return s.command({"PUBSUB", "CHANNELS"}).elements.size() == 1;
  })) << "nobody hears for it any more";
  const auto mine = next.enqueue("a");
  holder.leave("a", held.mine);
  EXPECT_EQ(next.confirm("a", mine.mine).what, status::queued);
  a.deny({deaf, "op", "hangs"});
  EXPECT_EQ(next.confirm("a", mine.mine).what, status::ok);
}

TEST_F(deny, a_message_of_somebody_else_is_a_hint) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member holder(a), waiter(a);
  holder.enqueue("a");
  const auto v = waiter.enqueue("a");
  std::atomic<int> told{0};
  auto watch = o.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  const auto channels = s.command({"PUBSUB", "CHANNELS"});
  ASSERT_EQ(channels.elements.size(), 1U);
  const std::string order = std::to_string(v.mine.value);
  int sent = 0;
  for (const char* life : {"", "+", "+holdfast:", "+holdfast::", "+holdfast:another:"}) {
    s.command({"PUBLISH", channels.elements[0].text, order + life});
    ASSERT_TRUE(process::eventually([&, now = ++sent] { return told == now; }));
    EXPECT_EQ(waiter.confirm("a", v.mine).what, status::queued) << life;
  }
}

// As after a deny that left more than a hundred entries to sweep, before anybody sweeps them.
TEST_F(deny, nothing_is_given_to_one_whose_entries_wait_to_be_swept) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member holder(a), denied(a), next(a);
  const auto held = holder.enqueue("a");
  const auto theirs = denied.enqueue("a");
  const auto mine = next.enqueue("a");
  const std::string life = "holdfast:" + s.command({"HGET", "holdfast:store", "nonce"}).text + ":";
  s.command({"HSET", life + "session:" + denied.id().str(), "denied", "1"});
  s.command({"RPUSH", life + "ended", denied.id().str() + ":" + std::to_string(denied.inc())});
  holder.leave("a", held.mine);
  EXPECT_EQ(next.confirm("a", mine.mine).what, status::ok);
  EXPECT_EQ(denied.confirm("a", theirs.mine).what, status::denied);
}

TEST_F(deny, one_that_was_told_that_it_holds_counts_until_its_record_falls) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member holder(a), denied(a), next(a);
  const auto held = holder.enqueue("a");
  const auto theirs = denied.enqueue("a");
  const auto mine = next.enqueue("a");
  std::atomic<int> told{0};
  auto watch = o.engine->watch({lock_name("a"), theirs.mine, theirs.targets}, [&] { ++told; });
  holder.leave("a", held.mine);
  ASSERT_TRUE(process::eventually([&] { return told > 0; }));
  ASSERT_EQ(denied.confirm("a", theirs.mine).what, status::ok);
  a.deny({denied.id(), "op", "hangs"});
  const auto v = next.confirm("a", mine.mine);
  ASSERT_EQ(v.what, status::queued);
  ASSERT_EQ(v.ahead.size(), 1U);
  EXPECT_EQ(a.take({denied.id(), v.ahead[0].at}).what, status::ok);
  EXPECT_EQ(next.confirm("a", mine.mine).what, status::ok);
}

TEST_F(deny, one_that_waits_for_another_lock_holds_what_it_has_until_its_record_falls) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member holder(a), denied(a), next(a);
  ASSERT_EQ(holder.enqueue("a").what, status::ok);
  ASSERT_EQ(denied.enqueue("b").what, status::ok);
  ASSERT_EQ(denied.enqueue("a").what, status::queued);
  a.deny({denied.id(), "op", "hangs"});
  EXPECT_EQ(next.attempt("b").what, status::busy) << "its wait is swept, and nothing else";
  EXPECT_EQ(denied.close().what, status::ok);
  EXPECT_EQ(next.attempt("b").what, status::ok);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
