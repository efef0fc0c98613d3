#include "tests/promises/store_promises.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What storage can rely on: tokens that only grow, and a store that is told from every other.

namespace holdfast::promises {
namespace {

TEST_P(store_promises, tokens_grow_over_holders_sessions_and_the_end_of_the_last_user) {
  token last{};
  const auto take = [&](session& s) {
    auto l = s.acquire(lock_name("a"), {.wait = long_enough});
    ASSERT_TRUE(succeeded(l));
    EXPECT_GT(l->token(), last);
    last = l->token();
    EXPECT_TRUE(succeeded(std::move(*l).release()));
  };
  // A store of this process ends with its last user.
  std::optional<store> user;
  if (!kind().has_processes) user.emplace(view());
  for (int opened = 0; opened < 3; ++opened) {
    session s = open();
    session other = open();
    for (int i = 0; i < 2; ++i) {
      take(s);
      take(s);
      take(other);
    }
    const lock lost_with_its_session = held_by(s, "a");
    EXPECT_GT(lost_with_its_session.token(), last);
    last = lost_with_its_session.token();
    EXPECT_TRUE(succeeded(s.close()));
    EXPECT_EQ(lost_with_its_session.token(), last) << "to find what was written under it";
    take(other);
  }
}

TEST_P(store_promises, a_fencing_token_names_its_lock_and_its_store) {
  auto ops = view();
  EXPECT_TRUE(ops.gives_tokens());
  const auto identity = ops.identity();
  ASSERT_TRUE(succeeded(identity));
  EXPECT_TRUE(succeeded(identity->check()));
  session s = open();
  const lock l = held_by(s, "a \xff:%");
  const auto t = l.fencing_token();
  ASSERT_TRUE(succeeded(t));
  EXPECT_TRUE(succeeded(t->check()));
  EXPECT_EQ(t->from.lock, l.name());
  EXPECT_EQ(t->from.store, *identity);
  EXPECT_EQ(t->value, l.token());
  const auto read = fencing_token::parse(t->str());
  ASSERT_TRUE(succeeded(read));
  EXPECT_EQ(*read, *t);
  EXPECT_TRUE(succeeded(s.close()));
  const auto lost = l.fencing_token();
  ASSERT_TRUE(succeeded(lost));
  EXPECT_EQ(*lost, *t);
  EXPECT_EQ(view().identity().value(), *identity) << "whoever asks";
}

TEST_P(store_promises, two_stores_do_not_see_each_other) {
  const std::string elsewhere = url_of(kind().fresh());
  auto other_view = store::open(elsewhere).value();
  session s = open();
  auto other = other_view.open_session().value();
  const lock here = held_by(s, "a");
  const lock there = held_by(other, "a");
  const auto seen = list();
  EXPECT_EQ(seen.locks.size(), 1U);
  EXPECT_EQ(seen.sessions.size(), 1U);
  EXPECT_EQ(seen.find(other.id()), nullptr);
  EXPECT_EQ(code(view().deny(other.id(), "me", "why")), errc::invalid_argument);
  EXPECT_NE(view().identity().value(), other_view.identity().value());
  EXPECT_NE(here.fencing_token().value().from, there.fencing_token().value().from);
  EXPECT_TRUE(succeeded(s.close()));
  EXPECT_TRUE(succeeded(there.check()));
  EXPECT_EQ(other_view.list().value().locks.size(), 1U);
}

}  // namespace
}  // namespace holdfast::promises
