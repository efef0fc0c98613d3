#include "tests/redis/store.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

/// Sessions without a record: somebody deleted it, or a command was refused when one was to end.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class no_record : public store_test {
 protected:
  static std::string key(server& s, const std::string& kind) {
    const auto found = s.command({"KEYS", "holdfast:*:" + kind + "*"}).elements;
    return found.empty() ? "" : found.at(0).text;
  }
};

TEST_F(no_record, a_session_hides_no_other_from_a_listing) {
  server s;
  const auto o = open(url(s));
  member one(ask(o));
  s.command({"DEL", key(s, "session:")});
  member other(ask(o));
  const auto all = ask(o).list();
  ASSERT_EQ(all.what, status::ok) << all.text;
  ASSERT_EQ(all.sessions.size(), 1U);
  EXPECT_EQ(all.sessions[0].id, other.id());
  EXPECT_EQ(s.command({"SCARD", key(s, "sessions")}).integer, 1) << "its name is cleared away";
}

TEST_F(no_record, its_locks_are_taken_by_who_saw_it_so_and_by_nobody_else) {
  max_ttl = "7s";
  server s;
  const auto o = open(url(s));
  member lost(ask(o), 1s), other(ask(o), 7s);
  ASSERT_EQ(lost.enqueue("a").what, status::ok);
  const auto before = other.attempt("a");
  s.command({"DEL", key(s, "session:" + lost.id().str())});
  const auto after = other.attempt("a");
  ASSERT_EQ(after.what, status::busy) << after.text;
  ASSERT_EQ(after.ahead.size(), 1U);
  EXPECT_EQ(after.ahead[0].ttl, 7s) << "the longest there is, for its own is not known";
  EXPECT_NE(after.ahead[0].at, before.ahead[0].at) << "what was seen before does not count";
  EXPECT_EQ(ask(o).take({lost.id(), before.ahead[0].at}).what, status::gone);
  EXPECT_EQ(other.attempt("a").what, status::busy);
  EXPECT_EQ(ask(o).take({lost.id(), after.ahead[0].at}).what, status::ok);
  EXPECT_EQ(other.attempt("a").what, status::ok);
  EXPECT_EQ(key(s, "held:" + lost.id().str()), "");
}

TEST_F(no_record, an_entry_that_only_a_queue_knows_is_taken_too) {
  server s;
  const auto o = open(url(s));
  member lost(ask(o)), other(ask(o));
  ASSERT_EQ(lost.enqueue("a").what, status::ok);
  s.command({"DEL", key(s, "session:" + lost.id().str()), key(s, "held:" + lost.id().str())});
  const auto mine = other.enqueue("a");
  ASSERT_EQ(mine.what, status::queued) << mine.text;
  EXPECT_EQ(ask(o).take({lost.id(), mine.ahead.at(0).at}).what, status::ok);
  EXPECT_EQ(other.confirm("a", mine.mine).what, status::ok);
}

TEST_F(no_record, those_of_two_kinds_are_seen_and_taken_one_by_one) {
  server s;
  const auto o = open(url(s));
  member writer(ask(o)), reader(ask(o)), other(ask(o));
  ASSERT_EQ(writer.enqueue("a").what, status::ok);
  ASSERT_EQ(reader.enqueue("a", mode::shared()).what, status::queued);
  for (const member* lost : {&writer, &reader}) {
    s.command({"DEL", key(s, "session:" + lost->id().str())});
  }
  const auto seen = other.attempt("a");
  ASSERT_EQ(seen.what, status::busy) << seen.text;
  ASSERT_EQ(seen.ahead.size(), 2U);
  for (const auto& r : seen.ahead) EXPECT_EQ(ask(o).take({r.owner, r.at}).what, status::ok);
  EXPECT_EQ(other.attempt("a").what, status::ok);
}

TEST_F(no_record, its_locks_are_held_while_those_of_an_ended_session_are_swept) {
  server s;
  const auto o = open(url(s));
  member lost(ask(o)), ended(ask(o)), other(ask(o));
  ASSERT_EQ(lost.enqueue("a").what, status::ok);
  for (int i = 0; i < 250; ++i) ended.enqueue("n" + std::to_string(i));
  const auto record = key(s, "session:" + ended.id().str());
  const auto prefix = record.substr(0, record.find("session:"));
  s.command({"DEL", key(s, "session:" + lost.id().str())});
  // As another client's close() leaves it, which removes a hundred entries at a time.
  s.command({"RPUSH", prefix + "ended", ended.id().str() + ":" + std::to_string(ended.inc())});
  s.command({"DEL", record});
  EXPECT_EQ(other.attempt("a").what, status::busy);
  EXPECT_EQ(other.attempt("n249").what, status::ok);
}

TEST_F(no_record, who_waits_gets_the_lock_after_the_longest_ttl_and_no_sooner) {
  max_ttl = "2s";
  server s;
  const auto o = open(url(s));
  member lost(ask(o), 100ms);
  ASSERT_EQ(lost.enqueue("a").what, status::ok);
  auto mine = holdfast::open(url(s, "&node_timeout=900ms"));
  ASSERT_TRUE(mine) << mine.error().message();
  s.command({"DEL", key(s, "session:" + lost.id().str())});
  const auto began = steady_clock::now();
  const auto busy = mine->try_acquire(lock_name("a"));
  ASSERT_FALSE(busy);
  EXPECT_NE(busy.error().message().find("a session whose record is gone"), std::string::npos)
      << busy.error().message();
  const auto got = mine->acquire(lock_name("a"), {.wait = 30s});
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_GE(steady_clock::now() - began, 2022ms);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
