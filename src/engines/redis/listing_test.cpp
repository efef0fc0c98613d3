#include "engines/redis/listing.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::redis {
namespace {

using replies::list_page;

session_id id_of(std::uint8_t n) {
  session_id id;
  id.bytes[0] = n;
  return id;
}

core::session_record session(std::uint8_t n, std::uint64_t inc, std::uint64_t beat = 0) {
  core::session_record s;
  s.id = id_of(n);
  s.at = {.inc = inc, .beat = beat};
  return s;
}

list_page::named_entry held(std::uint8_t n, std::uint64_t inc, std::uint64_t order,
                            const char* name) {
  return {.name = lock_name(name), .what = {.order = token{order}, .owner = id_of(n), .inc = inc}};
}

TEST(listing, pages_are_put_together_in_order) {
  picture p;
  EXPECT_TRUE(p.add("l", {.sessions = {session(2, 7)}, .entries = {held(2, 7, 9, "a")}}));
  EXPECT_TRUE(p.add(
      "l", {.sessions = {session(1, 5)}, .entries = {held(1, 5, 8, "a"), held(1, 5, 3, "b")}}));
  EXPECT_EQ(p.size(), 5U);
  const auto all = p.shown();
  ASSERT_EQ(all.what, core::status::ok);
  ASSERT_EQ(all.sessions.size(), 2U);
  EXPECT_EQ(all.sessions[0].id, id_of(1));
  ASSERT_EQ(all.locks.size(), 2U);
  ASSERT_EQ(all.locks[0].entries.size(), 2U);
  EXPECT_EQ(all.locks[0].entries[0].order, token{8});
  EXPECT_EQ(all.locks[0].entries[1].order, token{9});
}

TEST(listing, of_a_session_that_comes_twice_the_later_one_is_shown_with_its_own_entries) {
  picture p;
  p.add("l", {.sessions = {session(1, 5, 1)}, .entries = {held(1, 5, 8, "a"), held(1, 5, 9, "b")}});
  p.add("l", {.sessions = {session(1, 5, 2)}, .entries = {held(1, 5, 9, "b")}});
  EXPECT_EQ(p.size(), 2U);
  const auto all = p.shown();
  ASSERT_EQ(all.sessions.size(), 1U);
  EXPECT_EQ(all.sessions[0].at.beat, 2U);
  ASSERT_EQ(all.locks.size(), 1U);
  EXPECT_EQ(all.locks[0].name, lock_name("b"));
}

TEST(listing, an_entry_of_nobody_who_is_shown_is_left_out) {
  picture p;
  p.add("l", {.sessions = {session(1, 5)}, .entries = {held(2, 5, 8, "a"), held(1, 4, 9, "b")}});
  EXPECT_TRUE(p.shown().locks.empty());
}

TEST(listing, pages_of_two_lives_are_no_picture) {
  picture p;
  EXPECT_TRUE(p.add("one", {.sessions = {session(1, 5)}}));
  EXPECT_FALSE(p.add("two", {.sessions = {session(2, 6)}}));
}

TEST(listing, its_revision_tells_every_change_that_shows) {
  const auto revision = [](const list_page& page) {
    picture p;
    p.add("l", page);
    return p.shown().revision;
  };
  const auto one = revision({.sessions = {session(1, 5)}});
  EXPECT_EQ(one, revision({.sessions = {session(1, 5)}}));
  EXPECT_NE(one, revision({.sessions = {session(1, 5, 1)}}));
  EXPECT_NE(one, revision({.sessions = {session(1, 6)}}));
  EXPECT_NE(one, revision({.sessions = {session(1, 5)}, .entries = {held(1, 5, 8, "a")}}));
}

}  // namespace
}  // namespace holdfast::engines::redis
