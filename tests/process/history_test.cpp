#include "tests/process/history.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace holdfast::history {
namespace {

line answered(operation what, const char* who, std::uint64_t token, std::int64_t from,
              std::int64_t to) {
  return {.what = what,
          .caller = who,
          .lock = "x",
          .token = {token},
          .invoked = from,
          .returned = to,
          .outcome = "ok",
          .value = {}};
}
line acquire(const char* who, std::uint64_t token, std::int64_t from, std::int64_t to) {
  return answered(operation::acquire, who, token, from, to);
}
line check(const char* who, std::uint64_t token, std::int64_t at) {
  return answered(operation::check, who, token, at, at + 1);
}

TEST(history, what_was_written_is_read_back) {
  const tests::temporary_directory here;
  const auto path = here.path() + "/history";
  {
    const writer w(path, "1");
    const auto at = w.pending(operation::acquire, "a b%\xc3");
    w.done(operation::acquire, "a b%\xc3", 7, at, "ok");
    w.done(operation::open, "", 0, at, "unavailable");
    const writer second(path, "2");
    second.done(operation::check, "-", 7, at, "lost");
  }
  const auto all = read(path);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].outcome, "pending");
  EXPECT_EQ(all[0].returned, 0);
  EXPECT_EQ(all[1].lock, "a b%\xc3");
  EXPECT_EQ(all[1].token.value, 7U);
  EXPECT_EQ(all[1].invoked, all[0].invoked);
  EXPECT_GE(all[1].returned, all[1].invoked);
  EXPECT_EQ(all[2].lock, "");
  EXPECT_EQ(all[2].token.value, 0U);
  EXPECT_EQ(all[3].lock, "-");
  EXPECT_EQ(all[3].caller, "2");
}

TEST(history, a_line_that_its_writer_was_killed_in_is_left_out_wherever_it_was_cut) {
  const tests::temporary_directory here;
  const auto path = here.path() + "/history";
  const std::string before = print(acquire("1", 7, 10, 20));
  const std::string cut = print(answered(operation::release, "1", 7, 30, 40));
  const std::string after = print(check("2", 7, 50));
  for (std::size_t n = 0; n < cut.size(); ++n) {
    for (const std::string& next : {after, std::string()}) {
      std::ofstream(path) << header << before << cut.substr(0, n) << next;
      const auto all = read(path);
      ASSERT_EQ(all.size(), next.empty() ? 1U : 2U) << n;
      EXPECT_EQ(all[0].what, operation::acquire);
      EXPECT_EQ(all.back().caller, next.empty() ? "1" : "2") << n;
    }
  }
}

TEST(history, a_wrong_header_or_line_is_named) {
  const tests::temporary_directory here;
  const auto path = here.path() + "/history";
  std::ofstream(path) << "holdfast-history 9\n";
  EXPECT_THROW(read(path), std::runtime_error);
  std::ofstream(path) << "holdfast-history 1\n# a remark\nacquire 1 x\n";
  EXPECT_THROW(read(path), std::runtime_error);
  EXPECT_THROW(read(here.path() + "/absent"), std::runtime_error);
}

TEST(history, one_holder_after_the_other_is_no_violation) {
  EXPECT_TRUE(violations({acquire("a", 1, 10, 20), check("a", 1, 25), acquire("b", 2, 15, 30),
                          check("b", 2, 35)})
                  .empty());
}

TEST(history, a_check_that_is_ok_after_a_newer_grant_is_a_violation) {
  EXPECT_EQ(
      violations({acquire("a", 1, 10, 20), acquire("b", 2, 15, 30), check("a", 1, 31)}).size(), 1U);
}

TEST(history, a_check_that_began_before_the_newer_grant_is_none) {
  EXPECT_TRUE(
      violations({acquire("a", 1, 10, 20), acquire("b", 2, 15, 30), check("a", 1, 30)}).empty());
}

TEST(history, a_token_given_twice_is_a_violation) {
  EXPECT_FALSE(violations({acquire("a", 1, 10, 20), acquire("b", 1, 40, 50)}).empty());
}

TEST(history, a_smaller_token_asked_for_later_is_a_violation) {
  EXPECT_FALSE(violations({acquire("a", 2, 10, 20), acquire("b", 1, 40, 50)}).empty());
}

TEST(history, tokens_of_different_locks_are_not_compared) {
  auto other = acquire("b", 1, 40, 50);
  other.lock = "y";
  EXPECT_TRUE(violations({acquire("a", 2, 10, 20), other}).empty());
}

}  // namespace
}  // namespace holdfast::history
