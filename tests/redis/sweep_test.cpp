#include "engines/redis/scripts.hpp"
#include "tests/redis/store.hpp"

/// A dead session's thousands of locks are free at once, and removed a hundred at a time.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;

class sweep : public store_test {};

TEST_F(sweep, thousands_of_locks_fall_with_their_session_and_leave_nothing_behind) {
  server s;
  const auto o = open(url(s));
  member dying(ask(o)), other(ask(o));
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(dying.enqueue("n" + std::to_string(i)).what, status::ok);
  }
  ASSERT_EQ(dying.close().what, status::ok);
  EXPECT_EQ(other.attempt("n4999").what, status::ok);
  EXPECT_EQ(other.attempt("n0").what, status::ok);
  const auto queues = [&] { return s.command({"KEYS", "holdfast:*:x:*"}).elements.size(); };
  EXPECT_TRUE(process::eventually([&] { return queues() == 2; })) << queues();
  EXPECT_TRUE(s.command({"KEYS", "holdfast:*:held:" + dying.id().str() + "*"}).elements.empty());
  EXPECT_TRUE(s.command({"KEYS", "holdfast:*:ended"}).elements.empty());
}

TEST_F(sweep, no_call_removes_more_than_a_hundred) {
  server s;
  const auto o = open(url(s));
  member dying(ask(o));
  for (int i = 0; i < 1000; ++i) dying.enqueue("n" + std::to_string(i));
  s.command({"CONFIG", "RESETSTAT"});
  dying.close();
  EXPECT_TRUE(process::eventually([&] {
    return s.command({"KEYS", "holdfast:*:x:*"}).elements.empty();
  }));
  EXPECT_GE(s.calls("evalsha"), 10);
}

/// What five thousand sessions leave, each with one lock, when no call has swept yet: without their
/// records, listed as ended, and their entries in the queues.
constexpr const char* leave_ended = R"lua(
  for i = 1, 5000 do
    local id = string.format('%032x', i)
    local member = i .. ':' .. id .. ':1:1:x:0:'
    redis.call('HSET', ARGV[1] .. 'held:' .. id .. ':1', '1:n' .. i, member)
    redis.call('ZADD', ARGV[1] .. 'x:n' .. i, i, member)
    redis.call('RPUSH', ARGV[1] .. 'ended', id .. ':1')
  end)lua";

/// What one session with twenty thousand locks leaves.
constexpr const char* leave_one_large = R"lua(
  local id = string.rep('e', 32)
  for i = 1, 20000 do
    local member = i .. ':' .. id .. ':1:1:x:0:'
    redis.call('HSET', ARGV[1] .. 'held:' .. id .. ':1', '1:n' .. i, member)
    redis.call('ZADD', ARGV[1] .. 'x:n' .. i, i, member)
  end
  redis.call('RPUSH', ARGV[1] .. 'ended', id .. ':1'))lua";

/// In the store of the only session that has a record.
void leave_behind(server& s, const char* what) {
  const auto record = s.command({"KEYS", "holdfast:*:session:*"}).elements.at(0).text;
  s.command({"EVAL", what, "0", record.substr(0, record.find("session:"))});
}
void leave_many_ended(server& s) { leave_behind(s, leave_ended); }

TEST_F(sweep, a_long_list_of_ended_sessions_is_read_by_one_command) {
  server s;
  const auto o = open(url(s));
  member other(ask(o));
  leave_many_ended(s);
  s.command({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(other.attempt("n5000").what, status::ok) << "its holder is listed";
  const auto queues = [&] { return s.command({"KEYS", "holdfast:*:x:*"}).elements.size(); };
  EXPECT_TRUE(process::eventually([&] { return queues() == 1; })) << queues();
  EXPECT_LE(s.calls("lindex") + s.calls("lrange"), 5000 + 200)
      << "the first one once for each session, and all of them once";
}

TEST_F(sweep, a_large_session_is_scanned_once) {
  server s;
  const auto o = open(url(s));
  member other(ask(o));
  leave_behind(s, leave_one_large);
  s.command({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(other.attempt("n20000").what, status::ok);
  const auto queues = [&] { return s.command({"KEYS", "holdfast:*:x:*"}).elements.size(); };
  EXPECT_TRUE(process::eventually([&] { return queues() == 1; })) << queues();
  EXPECT_GE(s.calls("evalsha"), 200);
  EXPECT_LE(s.calls("hscan"), 4 * s.calls("evalsha")) << "not all that is empty by now each time";
  EXPECT_EQ(s.command({"HGET", "holdfast:store", "swept"}).text, "");
}

TEST_F(sweep, who_asks_for_a_lock_waits_for_a_few_that_are_removed) {
  server s;
  const auto o = open(url(s));
  member other(ask(o));
  leave_behind(s, leave_one_large);
  const auto life = s.command({"HGET", "holdfast:store", "nonce"}).text;
  const std::string text(engines::redis::scripts::enqueue.text);
  s.command({"CONFIG", "RESETSTAT"});
  s.command({"EVAL", text, "0", life, other.id().str(), std::to_string(other.inc()), "1", "7", "x",
             "0", "", "1", "100", "n20000"});
  EXPECT_EQ(s.calls("zadd"), 1) << "it was not granted";
  EXPECT_EQ(s.calls("zrem"), 8);
}

TEST_F(sweep, what_cannot_be_swept_undoes_nothing_that_was_asked_for) {
  server s;
  const auto o = open(url(s));
  auto a = ask(o);
  member holder(a), denied(a), dead(a), other(a);
  const auto held = holder.enqueue("a");
  const auto as_seen = dead.record().at;
  const std::string life = "holdfast:" + s.command({"HGET", "holdfast:store", "nonce"}).text + ":";
  s.command({"RPUSH", life + "ended", "nothing that holdfast writes"});
  EXPECT_EQ(holder.leave("a", held.mine).what, status::ok);
  EXPECT_EQ(a.deny({denied.id(), "op", "hangs"}).what, status::ok);
  EXPECT_EQ(a.take({dead.id(), as_seen}).what, status::ok);
  EXPECT_EQ(holder.close().what, status::ok);
  EXPECT_EQ(other.enqueue("a").what, status::damaged) << "who comes next is told";
}

TEST_F(sweep, a_session_that_is_opened_again_holds_nothing_of_its_earlier_incarnation) {
  server s;
  const auto o = open(url(s));
  member other(ask(o));
  leave_many_ended(s);
  const auto last = session_id::parse(std::string(28, '0') + "1388");
  ASSERT_EQ(ask(o).open(conformance::draft_of(last.value())).what, status::ok);
  EXPECT_EQ(other.attempt("n5000").what, status::ok) << "its entry is the last to be removed";
  const auto key = s.command({"KEYS", "holdfast:*:x:n5000"}).elements.at(0).text;
  EXPECT_TRUE(process::eventually([&] { return s.command({"ZCARD", key}).integer == 1; }));
}

TEST_F(sweep, a_waiter_is_not_shown_those_that_ended_and_are_not_swept_yet) {
  server s;
  const auto o = open(url(s));
  member holder(ask(o));
  ASSERT_EQ(holder.enqueue("n5000").what, status::ok);
  leave_many_ended(s);
  member waiter(ask(o));
  const auto v = waiter.enqueue("n5000");
  ASSERT_EQ(v.what, status::queued);
  ASSERT_EQ(v.ahead.size(), 1U) << "the entry of the ended one is older and still there";
  EXPECT_EQ(v.ahead[0].owner, holder.id());
}

TEST_F(sweep, waiters_of_every_one_of_them_are_woken) {
  server s;
  const auto o = open(url(s));
  member dying(ask(o)), waiter(ask(o));
  std::vector<core::queue_view> views;
  std::vector<std::unique_ptr<core::watch_handle>> watches;
  std::atomic<int> told{0};
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "n" + std::to_string(i);
    dying.enqueue(name);
    const auto v = waiter.enqueue(name);
    ASSERT_EQ(v.what, status::queued);
    watches.push_back(o.engine->watch({lock_name(name), v.mine, v.targets}, [&] { ++told; }));
  }
  dying.close();
  EXPECT_TRUE(process::eventually([&] { return told == 1000; })) << told;
  watches.clear();
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
