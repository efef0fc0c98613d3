#include <holdfast/history.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

namespace holdfast::history {
namespace {

using testing::HasSubstr;

line acquired(std::string lock, std::uint64_t token, mode how) {
  line l{.what = operation::acquire,
         .caller = "w1",
         .lock = std::move(lock),
         .token = {token},
         .invoked = 5,
         .returned = 9,
         .outcome = "ok",
         .mode = how,
         .value = {}};
  return l;
}

result<std::vector<line>> read(const std::string& lines) {
  return parse(std::string(header) + lines);
}

TEST(history_text, what_is_printed_is_read_back) {
  const line written{.what = operation::write,
                     .caller = "a.b:c-1",
                     .lock = "-",
                     .token = {7},
                     .invoked = 0,
                     .returned = 9,
                     .outcome = "stale_token",
                     .value = " %\xc3=-"};
  line pending = acquired("a b%\xc3", 0, mode::exclusive());
  pending.outcome = "pending";
  pending.returned = 0;
  line opened{.what = operation::open,
              .caller = "1",
              .lock = {},
              .invoked = 3,
              .returned = 3,
              .outcome = "unavailable",
              .value = {}};
  line empty = written;
  empty.value = "";
  for (const line& l :
       {written, pending, opened, empty, acquired("x", token_max.value, mode::shared()),
        acquired("-x", 1, mode::permits(3))}) {
    const auto all = read(print(l));
    ASSERT_TRUE(all) << all.error().message();
    ASSERT_EQ(all->size(), 1U);
    EXPECT_EQ(print(all->front()), print(l));
    EXPECT_EQ(all->front().lock, l.lock);
    EXPECT_EQ(all->front().value, l.value);
    EXPECT_EQ(all->front().at, 2U);
  }
}

TEST(history_text, blank_lines_and_remarks_count_as_lines_and_say_nothing) {
  const auto all = parse("holdfast-history 1\n\n# a remark\ncheck w1 x 7 5 9 ok\n");
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->at(0).at, 4U);
}

TEST(history_text, a_damaged_text_is_refused_with_the_line_and_the_reason) {
  const std::tuple<const char*, const char*> table[] = {
      {"", "line 1: a history begins with \"holdfast-history 1\""},
      {"\n", "line 1: a history begins with"},
      {"holdfast-history 1", "line 1: it was cut"},
      {"holdfast-history 2\n", "line 1: \"holdfast-history%202\" is a version that this program"},
      {"\x7f"
       "ELF\n",
       "line 1: a history begins with"},
      {"#\nopen 1 - - 5 9 ok", "line 3: it was cut"},
      {"lock w1 x 7 5 9 ok\n", "line 2: \"lock\" is no operation"},
      {" check w1 x 7 5 9 ok\n", "\"\" is no operation"},
      {"check w/1 x 7 5 9 ok\n", "the caller \"w/1\""},
      {"check\n", "the caller \"\""},
      {"check w1 a%2 7 5 9 ok\n", "the lock \"a%252\" is not written as a name is: byte 1"},
      {"check w1 %41 7 5 9 ok\n", "escapes a character that is written plainly"},
      {"check w1  7 5 9 ok\n", "the lock \"\""},
      {"check w1 x 0 5 9 ok\n", "the token \"0\""},
      {"check w1 x 9007199254740992 5 9 ok\n", "not from 1 to 2^53 - 1"},
      {"check w1 x 18446744073709551617 5 9 ok\n", "the token"},
      {"check w1 x +7 5 9 ok\n", "the token"},
      {"check w1 x 07 5 9 ok\n", "the token"},
      {"check w1 x 7 -5 9 ok\n", "the time of call \"-5\""},
      {"check w1 x 7 5 9223372036854775808 ok\n", "the time of return"},
      {"check w1 x 7 5\n", "the time of return \"\""},
      {"check w1 x 7 5 4 ok\n", "it returned before it was called"},
      {"open w1 - - 0 0 ok\n", "it returned at zero"},
      {"check w1 x 7 5 9\n", "the outcome \"\""},
      {"check w1 x 7 5 9 OK\n", "the outcome \"OK\""},
      {"check w1 x 7 5 9 pending\n", "what is pending has no time of return"},
      {"check w1 x 7 5 - ok\n", "what is pending has no time of return"},
      {"check w1 x 7 5 9 ok \n", "line 2: it ends with a space"},
      {"check w1 x 7 5 9 ok  mode=shared\n", "\"\" is not value="},
      {"check w1 x 7 5 9 ok color=red\n", "\"color=red\" is not value="},
      {"check w1 x 7 5 9 ok mode=shared\n", "only an acquire and a read have a mode"},
      {"write w1 x 7 5 9 ok mode=shared value=1\n", "only an acquire and a read have a mode"},
      {"read w1 x 7 5 9 ok mode=permits:2\n", "a read has no permits: each slot is storage"},
      {"read w1 x - 5 9 ok mode=shared\n", "this read has a mode and no token"},
      {"check w1 x 7 5 9 ok value=1\n", "only a write and a read have a value"},
      {"acquire w1 x 7 5 9 ok mode=permits:0\n", "mode=permits:N with N from 1"},
      {"acquire w1 x 7 5 9 ok mode=permits:1000001\n", "mode=permits:N with N from 1"},
      {"acquire w1 x 7 5 9 ok mode=shared mode=shared\n", "two modes"},
      {"write w1 x 7 5 9 ok value=1 value=2\n", "two values"},
      {"write w1 x 7 5 9 ok value=%zz\n", "the value: byte 0"},
      {"write w1 x - 5 9 ok value=1\n", "this write has no token"},
      {"raise w1 x - 5 9 ok\n", "this raise has no token"},
      {"acquire w1 - 7 5 9 ok\n", "this acquire names no lock"},
      {"kill w1 x - 5 9 ok\n", "this kill is not about a lock, and names one"},
      {"open w1 - 7 5 9 ok\n", "is not about a lock, and has a token"},
  };
  for (const auto& [text, words] : table) {
    const std::string given = text;
    const bool begins = given.starts_with("holdfast") || given.size() < 2 || given[0] == '\x7f';
    const auto all = begins ? parse(given) : read(given);
    ASSERT_FALSE(all) << given;
    EXPECT_EQ(all.error(), errc::damaged);
    EXPECT_THAT(all.error().message(), HasSubstr(words)) << given;
  }
}

TEST(history_text, names_and_models_have_words) {
  EXPECT_STREQ(name_of(operation::cont), "cont");
  EXPECT_STREQ(name_of(model::mutex), "mutex");
  EXPECT_STREQ(name_of(model::fenced_mutex), "fenced mutex");
  EXPECT_STREQ(name_of(model::semaphore), "semaphore");
  EXPECT_STREQ(name_of(model::fenced_register), "fenced register");
}

}  // namespace
}  // namespace holdfast::history
