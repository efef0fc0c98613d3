#include "tests/promises/store_promises.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

/// What an operator sees of a store, and does to it.

namespace holdfast::promises {
namespace {

/// As records have it; whether a test's machine sets its clock back is no concern of theirs.
wall_time wall() {
  return std::chrono::time_point_cast<wall_time::duration>(std::chrono::system_clock::now());
}

TEST_P(store_promises, a_store_that_nobody_has_used_is_there_and_empty) {
  const auto before = store::find(url());
  ASSERT_TRUE(succeeded(before));
  if (kind().has_to_be_made) {
    EXPECT_FALSE(before->there);
    EXPECT_EQ(before->obstacle, "");
    EXPECT_EQ(code(store::open(url(), missing::refuse)), errc::unavailable);
    EXPECT_FALSE(store::find(url()).value().there) << "nothing was made";
  } else {
    EXPECT_TRUE(succeeded(store::open(url(), missing::refuse)));
  }
  auto ops = view();
  EXPECT_TRUE(store::find(url()).value().there);
  const auto all = ops.list();
  ASSERT_TRUE(succeeded(all));
  EXPECT_TRUE(all->locks.empty());
  EXPECT_TRUE(all->sessions.empty());
  EXPECT_EQ(all->lacks, "");
  EXPECT_GE(all->rest, 50ms);
  EXPECT_FALSE(ops.wait_for_change(0s).value());
  const auto found = ops.diagnose();
  ASSERT_TRUE(succeeded(found));
  EXPECT_NE(std::ranges::find(*found, "clock", &finding::subject), found->end());
  for (const auto& one : *found) {
    EXPECT_NE(one.severity, severity::fault) << one.subject << ": " << one.text;
  }
  EXPECT_TRUE(comes_to_be_empty()) << "a look changes nothing";
}

TEST_P(store_promises, a_list_shows_holders_and_where_there_is_a_queue_who_waits) {
  const auto before = wall();
  session s = open({.program = "p", .instance = "i", .label = "l"});
  const auto heard = std::make_shared<listener>();
  session waiter = open({.observer = heard});
  const lock a = held_by(s, "a");
  const lock b = held_by(s, "b");
  auto awaited = begin(waiter, "a");
  EXPECT_TRUE(heard->comes_to_hear("waiting a"));
  const auto seen = list();
  ASSERT_EQ(seen.locks.size(), 2U);
  EXPECT_EQ(seen.locks[0].name, lock_name("a"));
  EXPECT_EQ(seen.locks[1].name, lock_name("b"));
  const auto& entries = seen.locks[0].entries;
  ASSERT_EQ(entries.size(), kind().has_queue ? 2U : 1U);
  EXPECT_EQ(entries[0].session, s.id());
  EXPECT_EQ(entries[0].token, a.token());
  EXPECT_TRUE(entries[0].granted);
  EXPECT_TRUE(entries[0].mode.is_exclusive());
  if (kind().has_queue) {
    EXPECT_EQ(entries[1].session, waiter.id());
    EXPECT_FALSE(entries[1].granted);
    EXPECT_GT(entries[1].token, a.token());
  }
  ASSERT_EQ(seen.sessions.size(), 2U);
  const auto* const info = seen.find(s.id());
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->owner.program, "p");
  EXPECT_EQ(info->owner.instance, "i");
  EXPECT_EQ(info->owner.label, "l");
  EXPECT_EQ(info->owner.pid, ::getpid());
  EXPECT_FALSE(info->owner.host.empty());
  EXPECT_EQ(info->ttl, s.ttl());
  EXPECT_EQ(info->locks, 2U);
  EXPECT_EQ(info->beats.has_value(), kind().counts_beats);
  EXPECT_FALSE(info->denied);
  EXPECT_LE(before, info->opened);
  EXPECT_LE(info->opened, wall());
  if (kind().has_queue) {
    EXPECT_LE(info->opened, entries[0].since);
    EXPECT_LE(entries[0].since, wall());
  } else {
    EXPECT_EQ(entries[0].since, wall_time{});
  }
  EXPECT_LT(info->owner.started, info->opened);
  EXPECT_EQ(info->life, kind().sees_deaths ? life::alive : life::unknown);
  ASSERT_NE(seen.find(waiter.id()), nullptr);
  EXPECT_EQ(seen.find(waiter.id())->locks, kind().has_queue ? 1U : 0U);
  EXPECT_EQ(seen.find(lock_name("c")), nullptr);
  EXPECT_TRUE(succeeded(waiter.close()));
  ASSERT_TRUE(comes(awaited));
  EXPECT_EQ(code(awaited.get()), errc::lost);
}

TEST_P(store_promises, a_change_is_seen_and_waiting_for_one_ends) {
  auto ops = view();
  session s = open();
  ASSERT_TRUE(succeeded(ops.list()));
  auto held = held_by(s, "a");
  EXPECT_TRUE(ops.wait_for_change(0s).value());
  // It may tell of a change that was none, but not without end.
  EXPECT_TRUE(eventually([&] { return !ops.wait_for_change(0s).value(); }));
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(succeeded(std::move(held).release()));
  });
  EXPECT_TRUE(ops.wait_for_change(long_enough).value());
  later.join();
  EXPECT_TRUE(eventually([&] { return !ops.wait_for_change(1ms).value(); }));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(ops.wait_for_change(forever, stop.get_token()).value());
  EXPECT_EQ(code(ops.wait_for_change(-1s)), errc::invalid_argument);
}

TEST_P(store_promises, a_denied_session_is_shown_and_refused_and_frees_its_locks_by_its_end) {
  auto ops = view();
  session s = open({.ttl = 1h, .program = "hangs"});
  session other = open();
  const lock held = held_by(s, "a");
  const std::string longest(session_options::text_max, '\xff');
  const auto first = ops.deny(s.id(), "an operator", longest);
  ASSERT_TRUE(succeeded(first));
  EXPECT_FALSE(first->already);
  EXPECT_GE(first->free_within, 1h);
  EXPECT_EQ(first->owner.program, "hangs");
  const auto again = ops.deny(s.id(), "another", "for another reason");
  ASSERT_TRUE(succeeded(again));
  EXPECT_TRUE(again->already);
  const auto seen = list();
  const auto* const info = seen.find(s.id());
  ASSERT_NE(info, nullptr);
  EXPECT_TRUE(info->denied);
  EXPECT_EQ(info->denied_by, "an operator") << "denying twice changes nothing";
  EXPECT_EQ(info->denied_why, longest);
  ASSERT_NE(seen.find(lock_name("a")), nullptr) << "nothing is deleted by force";
  EXPECT_EQ(code(other.try_acquire(lock_name("a"))), errc::busy);
  EXPECT_EQ(code(s.try_acquire(lock_name("b"))), errc::denied);
  EXPECT_EQ(s.status().state, session_state::denied);
  EXPECT_EQ(code(held.check()), errc::lost);
  EXPECT_TRUE(succeeded(s.close()));
  EXPECT_TRUE(succeeded(other.acquire(lock_name("a"), {.wait = long_enough})));
  EXPECT_EQ(list().find(s.id()) != nullptr, kind().keeps_denials);
  EXPECT_EQ(code(ops.deny(s.id(), "me", "once more")),
            kind().keeps_denials ? errc{} : errc::invalid_argument);
}

TEST_P(store_promises, a_session_that_is_not_there_is_not_denied) {
  auto ops = view();
  const auto nobody = session_id::parse(std::string(32, 'a')).value();
  for (int tries = 0; tries < 3; ++tries) {
    const auto denied = ops.deny(nobody, "an operator", "a test");
    ASSERT_EQ(code(denied), errc::invalid_argument);
    EXPECT_THAT(denied.error().message(), testing::HasSubstr("no session"));
  }
  session s = open();
  const std::string too_long(session_options::text_max + 1, 'w');
  EXPECT_EQ(code(ops.deny(s.id(), too_long, "why")), errc::invalid_argument);
  EXPECT_EQ(code(ops.deny(s.id(), "me", too_long)), errc::invalid_argument);
  for (const char* text : {"a\nb", "\x1b[2J", "\x7f"}) {
    EXPECT_EQ(code(ops.deny(s.id(), text, "why")), errc::invalid_argument);
    EXPECT_EQ(code(ops.deny(s.id(), "me", text)), errc::invalid_argument);
  }
  const auto id = s.id();
  EXPECT_FALSE(list().find(id)->denied);
  EXPECT_TRUE(succeeded(s.close()));
  EXPECT_EQ(code(ops.deny(id, "me", "it has gone")), errc::invalid_argument);
}

TEST_P(store_promises, a_ttl_is_advised_and_no_session_left) {
  auto ops = view();
  const auto advice = ops.advise_ttl();
  ASSERT_TRUE(succeeded(advice));
  EXPECT_NE(advice->text, "");
  EXPECT_EQ(code(ops.advise_ttl(0s)), errc::invalid_argument);
  const auto too_short = ops.advise_ttl(1ms);
  ASSERT_TRUE(succeeded(too_short));
  EXPECT_EQ(too_short->severity, severity::fault);
  EXPECT_TRUE(comes_to_be_empty());
}

}  // namespace
}  // namespace holdfast::promises
