#include "cli/changes.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::cli {
namespace {

entry_info entry(std::uint8_t who, std::uint64_t order, bool granted) {
  session_id id;
  id.bytes[0] = who;
  return {.session = id, .token = token{order}, .granted = granted};
}

snapshot with(std::vector<entry_info> entries) {
  return {.locks = {{lock_name("n"), std::move(entries)}}, .sessions = {}};
}

session_info denied_session(const session_id& id) {
  session_info s;
  s.id = id;
  s.denied = true;
  return s;
}

TEST(changes, a_hand_over_is_a_release_and_an_acquisition) {
  const auto found =
      changes_between(with({entry(1, 1, true), entry(2, 2, false)}), with({entry(2, 2, true)}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].what, change::kind::released);
  EXPECT_EQ(found[1].what, change::kind::acquired);
  EXPECT_EQ(found[1].entry.token.value, 2U);
}

TEST(changes, somebody_who_queues_and_leaves_is_seen_as_that) {
  const auto came = changes_between({}, with({entry(1, 1, false)}));
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].what, change::kind::waiting);
  const auto left = changes_between(with({entry(1, 1, false)}), {});
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].what, change::kind::gone);
}

TEST(changes, the_same_session_again_is_another_entry) {
  const auto found = changes_between(with({entry(1, 1, true)}), with({entry(1, 9, true)}));
  ASSERT_EQ(found.size(), 2U);
}

TEST(changes, nothing_changed_is_nothing) {
  EXPECT_TRUE(changes_between(with({entry(1, 1, true)}), with({entry(1, 1, true)})).empty());
}

TEST(changes, a_denied_session_is_told_once_for_each_lock_that_it_has_or_waits_for) {
  const snapshot free = with({entry(1, 1, true), entry(2, 2, false)});
  snapshot denied = free;
  denied.sessions.push_back(denied_session(free.locks[0].entries[0].session));
  const auto found = changes_between(free, denied);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].what, change::kind::denied);
  EXPECT_EQ(found[0].entry.token.value, 1U);
  EXPECT_TRUE(changes_between(denied, denied).empty());
}

TEST(changes, a_waiter_who_is_gone_when_the_denial_is_seen_was_denied_first) {
  const snapshot waits = with({entry(1, 1, true), entry(2, 2, false)});
  snapshot denied = with({entry(1, 1, true)});
  denied.sessions.push_back(denied_session(waits.locks[0].entries[1].session));
  const auto found = changes_between(waits, denied);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].what, change::kind::denied);
  EXPECT_EQ(found[1].what, change::kind::gone);
}

TEST(changes, who_came_and_was_denied_between_two_looks_came_first) {
  snapshot denied = with({entry(1, 1, true)});
  denied.sessions.push_back(denied_session(denied.locks[0].entries[0].session));
  const auto found = changes_between({}, denied);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].what, change::kind::acquired);
  EXPECT_EQ(found[1].what, change::kind::denied);
}

}  // namespace
}  // namespace holdfast::cli
