#include "engines/redis/mailbox.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::redis {
namespace {

constexpr token mine{7};
constexpr session_id owner{{1, 2, 3}};

TEST(mailbox, an_entry_holds_once_a_message_said_so_and_a_hint_says_nothing) {
  mailbox box(nullptr);
  box.expect(mine, owner, true);
  box.ring(mine, false);
  EXPECT_FALSE(box.take_grant(mine, owner));
  box.ring(mine, true);
  box.ring(mine, false);
  EXPECT_FALSE(box.take_grant(token{8}, owner));
  EXPECT_FALSE(box.take_grant(mine, session_id{}));
  EXPECT_TRUE(box.take_grant(mine, owner));
  EXPECT_FALSE(box.take_grant(mine, owner)) << "once";
}

TEST(mailbox, what_a_lost_connection_gave_is_asked_for_again) {
  mailbox box(nullptr);
  box.expect(mine, owner, true);
  box.ring(mine, true);
  box.ring_all();
  EXPECT_FALSE(box.take_grant(mine, owner));
}

TEST(mailbox, an_entry_that_waits_no_more_holds_nothing) {
  mailbox box(nullptr);
  box.expect(mine, owner, true);
  box.ring(mine, true);
  box.forget(mine);
  EXPECT_FALSE(box.take_grant(mine, owner));
  box.expect(mine, owner, true);
  box.ring(mine, true);
  box.forget_all_of(owner);
  EXPECT_FALSE(box.take_grant(mine, owner));
  // Rung before its view has come: the view decides.
  box.ring(mine, true);
  box.expect(mine, owner, false);
  EXPECT_FALSE(box.take_grant(mine, owner));
}

}  // namespace
}  // namespace holdfast::engines::redis
