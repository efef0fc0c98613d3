#include <holdfast/store.hpp>

#include "client/outcome_fixture.hpp"

#include <holdfast/mutex.hpp>

#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;

TEST(store, lists_locks_and_sessions) {
  auto ops = store::open("memory:store1");
  ASSERT_TRUE(ops);
  auto s = ops->open_session({.program = "p", .instance = "i", .label = "l"});
  ASSERT_TRUE(s);
  auto held = s->acquire(lock_name("x"));
  ASSERT_TRUE(held);
  const auto seen = ops->list();
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->locks.size(), 1U);
  EXPECT_EQ(seen->locks[0].name.str(), "x");
  EXPECT_TRUE(seen->locks[0].entries.at(0).granted);
  EXPECT_EQ(seen->locks[0].entries.at(0).token, held->token());
  ASSERT_EQ(seen->sessions.size(), 1U);
  EXPECT_EQ(seen->sessions[0].id, s->id());
  EXPECT_EQ(seen->sessions[0].owner.program, "p");
  EXPECT_EQ(seen->sessions[0].owner.instance, "i");
  EXPECT_EQ(seen->sessions[0].owner.label, "l");
  EXPECT_EQ(seen->sessions[0].owner.pid, ::getpid());
  EXPECT_FALSE(seen->sessions[0].owner.host.empty());
  EXPECT_EQ(seen->sessions[0].locks, 1U);
  EXPECT_TRUE(seen->sessions[0].beats);
}

TEST(store, tells_of_a_change_and_can_be_cancelled) {
  auto ops = store::open("memory:store2");
  auto s = open("memory:store2");
  ASSERT_TRUE(ops && s);
  ASSERT_TRUE(ops->list());
  EXPECT_FALSE(*ops->wait_for_change(0ns));
  auto held = s->acquire(lock_name("x"));
  EXPECT_TRUE(*ops->wait_for_change(0ns));
  std::jthread later([&] {
    std::this_thread::sleep_for(60ms);
    EXPECT_TRUE(std::move(*held).release());
  });
  EXPECT_TRUE(*ops->wait_for_change(30s));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(*ops->wait_for_change(forever, stop.get_token()));
  EXPECT_EQ(code(ops->wait_for_change(-1s)), errc::invalid_argument);
}

TEST(store, denies_and_breaks_only_what_is_there_and_provably_dead) {
  auto ops = store::open("memory:store3");
  auto s = open("memory:store3");
  ASSERT_TRUE(ops && s);
  EXPECT_EQ(code(ops->deny(session_id{}, "me", "why")), errc::invalid_argument);
  EXPECT_EQ(code(ops->deny(s->id(), std::string(257, 'x'), "why")), errc::invalid_argument);
  EXPECT_EQ(code(ops->break_session(session_id{})), errc::invalid_argument);
  const auto refused = ops->break_session(s->id());
  ASSERT_EQ(code(refused), errc::busy);
  EXPECT_NE(refused.error().message().find("cannot be judged"), std::string::npos);
}

TEST(store, tells_whether_it_gives_tokens) {
  EXPECT_TRUE(store::open("memory:tokens")->gives_tokens());
}

TEST(store, diagnoses_the_clock) {
  auto ops = store::open("memory:store4");
  ASSERT_TRUE(ops);
  const auto found = ops->diagnose();
  ASSERT_TRUE(found);
  const auto clock = std::ranges::find(*found, "clock", &finding::subject);
  ASSERT_NE(clock, found->end());
  EXPECT_EQ(clock->severity, severity::good);
}

TEST(store, names_the_url_that_a_server_or_a_path_was_meant_for) {
  const std::pair<const char*, const char*> cases[] = {
      {"localhost:6379", "write redis://localhost:6379"},
      {"127.0.0.1:6379", "write redis://127.0.0.1:6379"},
      {"my-host.lan:1", "write redis://my-host.lan:1"},
      {"/tmp/x", "write local:/tmp/x"},
      {"file:/x", "write local:/x"},
      {"file:///x?group=g", "write local:/x?group=g"}};
  for (const auto& [url, better] : cases) {
    const auto opened = store::open(url, missing::refuse);
    ASSERT_FALSE(opened) << url;
    EXPECT_EQ(opened.error(), errc::invalid_argument);
    EXPECT_TRUE(opened.error().message().ends_with(better)) << opened.error().message();
  }
  for (const char* url : {"user:secret@h:1", "/secret@h", "file:secret", "secret:123456"}) {
    const std::string said = store::open(url, missing::refuse).error().message();
    EXPECT_EQ(said.find("write redis"), std::string::npos) << said;
    EXPECT_EQ(said.find("secret@"), std::string::npos) << said;
  }
}

TEST(store, advises_a_ttl_and_leaves_no_session) {
  auto ops = store::open("memory:store-ttl");
  ASSERT_TRUE(ops);
  const auto good = ops->advise_ttl();
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->severity, severity::good) << good->text;
  EXPECT_NE(good->text.find("slowest of 20"), std::string::npos) << good->text;
  EXPECT_NE(good->text.find("within 34.302s"), std::string::npos) << good->text;
  ASSERT_EQ(good->figures.size(), 6U);
  EXPECT_EQ(good->figures[3].name, "ttl_s");
  EXPECT_EQ(good->figures[3].value, 30);
  EXPECT_EQ(good->figures[5].name, "free_within_s");
  EXPECT_NEAR(good->figures[5].value, 34.302, 0.001);
  EXPECT_EQ(good->text.find("stopping"), std::string::npos) << good->text;
  const auto early = ops->advise_ttl(30s, [](duration) { return 20s; });
  EXPECT_EQ(early->severity, severity::warning) << early->text;
  EXPECT_NE(early->text.find("with the last 20s of it for stopping, and "), std::string::npos)
      << early->text;
  const auto most = ops->advise_ttl(1h, [](duration) { return 40min; });
  EXPECT_EQ(most->severity, severity::warning) << most->text;
  EXPECT_NE(most->text.find("the longest that this store takes is 1h, so leave less of it for"),
            std::string::npos)
      << most->text;
  EXPECT_EQ(ops->advise_ttl(0ms).error(), errc::invalid_argument);
  EXPECT_EQ(ops->advise_ttl(1ms)->severity, severity::fault) << "no session may have it";
  const auto long_one = ops->advise_ttl(2h);
  EXPECT_EQ(long_one->severity, severity::fault);
  EXPECT_NE(long_one->text.find("from 100ms to 1h"), std::string::npos) << long_one->text;
  const auto longest = ops->advise_ttl(duration::max());
  EXPECT_EQ(longest->severity, severity::fault);
  EXPECT_EQ(longest->text.find("goes to the next within"), std::string::npos) << longest->text;
  EXPECT_TRUE(ops->list()->sessions.empty());
}

TEST(store, the_machine_is_diagnosed_without_a_store) {
  const auto found = diagnose_machine();
  EXPECT_NE(std::ranges::find(found, "clock", &finding::subject), found.end());
}

TEST(mutex, works_with_unique_lock) {
  auto a = open("memory:mutex");
  auto b = open("memory:mutex");
  ASSERT_TRUE(a && b);
  mutex mine(*a, lock_name("x"));
  mutex theirs(*b, lock_name("x"));
  {
    const std::unique_lock hold(mine);
    EXPECT_TRUE(mine.held()->check());
    EXPECT_FALSE(theirs.try_lock());
    EXPECT_FALSE(theirs.try_lock_for(20ms));
    EXPECT_THROW(mine.lock(), std::system_error);
  }
  EXPECT_TRUE(theirs.try_lock());
  theirs.unlock();
  EXPECT_DEATH(theirs.unlock(), "without a lock");
}

TEST(mutex, a_wait_too_long_for_nanoseconds_has_no_limit) {
  namespace chrono = std::chrono;
  auto a = open("memory:mutex-long");
  auto b = open("memory:mutex-long");
  ASSERT_TRUE(a && b);
  mutex theirs(*b, lock_name("x"));
  const auto waits = [&](auto wait) {
    mutex mine(*a, lock_name("x"));
    mine.lock();
    std::jthread soon([&] {
      std::this_thread::sleep_for(20ms);
      mine.unlock();
    });
    const bool locked = wait();
    if (locked) theirs.unlock();
    return locked;
  };
  EXPECT_TRUE(waits([&] { return theirs.try_lock_for(chrono::hours::max()); }));
  EXPECT_TRUE(waits([&] { return theirs.try_lock_for(chrono::seconds::max()); }));
  EXPECT_TRUE(waits([&] { return theirs.try_lock_for(chrono::duration<double>(1e300)); }));
  EXPECT_TRUE(waits([&] { return theirs.try_lock_until(chrono::sys_seconds::max()); }));
  EXPECT_TRUE(
      waits([&] { return theirs.try_lock_until(chrono::sys_days(chrono::year{9999} / 12 / 31)); }));
  EXPECT_TRUE(
      waits([&] { return theirs.try_lock_until(chrono::steady_clock::time_point::max()); }));
  EXPECT_FALSE(waits([&] { return theirs.try_lock_for(chrono::seconds::min()); }));
  EXPECT_FALSE(waits([&] { return theirs.try_lock_until(chrono::sys_seconds::min()); }));
}

TEST(session, an_acquire_that_would_tell_nobody_stops_the_program) {
  auto s = open("memory:untold");
  ASSERT_TRUE(s);
  EXPECT_DEATH(s->acquire(lock_name("x"), {}, completion<lock>{}), "an empty completion");
}

TEST(session, a_release_that_would_tell_nobody_stops_the_program_also_while_it_is_held) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // A forked child holds nothing.
  auto s = open("memory:untold_release");
  ASSERT_TRUE(s);
  auto held = s->acquire(lock_name("x"));
  ASSERT_TRUE(held);
  EXPECT_DEATH(std::move(*held).release(completion<void>{}), "an empty completion");
}

TEST(completion, one_of_nothing_is_empty) {
  EXPECT_FALSE(completion<lock>(std::function<void(result<lock>)>()));
  EXPECT_FALSE(completion<void>(static_cast<void (*)(result<void>)>(nullptr)));
  EXPECT_TRUE(completion<void>(std::function<void(result<void>)>([](const result<void>&) {})));
  EXPECT_TRUE(completion<void>([](const result<void>&) {}));
  auto s = open("memory:empty").value();
  const std::function<void(result<lock>)> none;
  EXPECT_DEATH(s.acquire(lock_name("x"), {}, none), "an empty completion was given to acquire");
}

TEST(result, whose_missing_value_is_used_stops_the_program_and_tells_the_failure) {
  auto s = open("foo:");
  ASSERT_FALSE(s);
  EXPECT_DEATH((void)s->url(), "unknown store URL scheme 'foo'");
  EXPECT_DEATH((void)*std::as_const(s), "invalid_argument: unknown store URL scheme");
  auto good = open("memory:used");
  EXPECT_DEATH((void)good.error(), "a result that succeeded");
}

TEST(session, one_that_was_moved_from_stops_the_program_with_a_sentence) {
  auto s = open("memory:moved_from");
  ASSERT_TRUE(s);
  session other(std::move(*s));
  EXPECT_DEATH((void)s->id(), "a session that was moved from was used");
  EXPECT_DEATH((void)s->acquire(lock_name("x")), "moved from");
  EXPECT_DEATH((void)s->acquire_all({}), "moved from");
}

TEST(store, one_that_was_moved_from_stops_the_program_with_a_sentence) {
  auto s = store::open("memory:moved_from");
  ASSERT_TRUE(s);
  const store other(std::move(*s));
  constexpr char sentence[] = "a store that was moved from was used";
  EXPECT_DEATH((void)s->url(), sentence);
  EXPECT_DEATH((void)s->identity(), sentence);
  EXPECT_DEATH((void)s->gives_tokens(), sentence);
  EXPECT_DEATH((void)s->open_session(), sentence);
  EXPECT_DEATH((void)s->list(), sentence);
  EXPECT_DEATH((void)s->advise_ttl(), sentence);
}

}  // namespace
}  // namespace holdfast
