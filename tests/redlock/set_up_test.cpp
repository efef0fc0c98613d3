#include "tests/redlock/five_nodes.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/redlock.hpp>
#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::redlock_tests {

using testing::HasSubstr;

namespace {

TEST(redlock_set_up, a_deny_in_a_store_that_was_not_set_up_says_how) {
  five_nodes nodes(1);
  auto view = store::open(nodes.url()).value();
  const auto denied = view.deny(session_id{}, "me", "test");
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error(), errc::not_initialised) << denied.error().message();
  EXPECT_THAT(denied.error().message(), HasSubstr("holdfast redlock init"));
}

TEST(redlock_set_up, a_max_ttl_out_of_range_is_refused_and_nothing_is_written) {
  five_nodes nodes(1);
  for (const duration wrong : {duration{-1s}, duration{-1}, duration{1ms}, duration{61min}}) {
    for (const auto set_up : {&redlock::init, &redlock::recover}) {
      const auto done = set_up(nodes.url(), {.max_ttl = wrong});
      ASSERT_FALSE(done) << print_duration(wrong);
      EXPECT_EQ(done.error(), errc::invalid_argument);
      EXPECT_THAT(done.error().message(), HasSubstr("max_ttl is " + print_duration(wrong)));
    }
  }
  EXPECT_EQ(nodes.count("holdfast:node"), 0U);
}

TEST(redlock_set_up, setting_up_an_even_number_of_nodes_tells_to_use_an_odd_one) {
  for (const std::size_t n : {1U, 2U}) {
    five_nodes nodes(n);
    const auto done = redlock::init(nodes.url());
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->advice.find("use an odd number") != std::string::npos, n == 2) << done->advice;
  }
}

}  // namespace
}  // namespace holdfast::redlock_tests
