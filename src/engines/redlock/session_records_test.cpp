#include "engines/redlock/session_records.hpp"

#include "core/lease.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast::engines::redlock {
namespace {

duration ttl_read(const std::string& text) {
  const session_id id = *session_id::parse("0123456789abcdef0123456789abcdef");
  session_records all;
  add_record(all, id, {.all = {{"host", "a"}, {"ttl", text}}});
  return all.at(id).ttl;
}

TEST(redlock_session_records, a_ttl_that_no_session_has_stays_a_duration) {
  EXPECT_EQ(ttl_read("30000"), std::chrono::seconds{30});
  EXPECT_EQ(ttl_read("9999999999999999"), core::ttl_max);
  EXPECT_EQ(ttl_read("99999999999999999999999"), duration::zero());
  EXPECT_EQ(ttl_read("-5"), duration::zero());
  EXPECT_EQ(ttl_read("soon"), duration::zero());
}

TEST(redlock_session_records, a_time_that_no_clock_shows_can_be_told_from_the_time_now) {
  const session_id id = *session_id::parse("0123456789abcdef0123456789abcdef");
  session_records all;
  add_record(
      all, id,
      {.all = {
           {"host", "a"}, {"opened", "9223372036854775807"}, {"started", "-9223372036854775808"}}});
  const auto now = std::chrono::system_clock::now();
  EXPECT_LT(now - all.at(id).opened, std::chrono::hours{-24});
  EXPECT_GT(now - all.at(id).owner.started, std::chrono::hours{24});
}

}  // namespace
}  // namespace holdfast::engines::redlock
