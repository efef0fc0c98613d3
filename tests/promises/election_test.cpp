#include "tests/promises/store_promises.hpp"

#include <holdfast/election.hpp>

#include <optional>
#include <string>
#include <thread>
#include <utility>

/// One of many candidates leads, and everybody reads what it published.

namespace holdfast::promises {
namespace {

TEST_P(store_promises, one_candidate_leads_until_it_resigns_and_the_next_has_a_larger_term) {
  election head(view(), lock_name("head"));
  election other(view(), lock_name("head"));
  EXPECT_FALSE(head.current().value().has_value());
  const std::string longest(election::value_max, '\xff');
  auto first = head.campaign(longest, {.program = "one"});
  ASSERT_TRUE(succeeded(first));
  EXPECT_TRUE(succeeded(first->check()));
  EXPECT_EQ(code(other.campaign("two", {.wait = 0s})), errc::busy);
  EXPECT_EQ(code(other.campaign("two", {.wait = 10ms})), errc::timed_out);
  EXPECT_EQ(code(other.campaign(longest + "v")), errc::invalid_argument);
  EXPECT_EQ(code(other.campaign("a\nb")), errc::invalid_argument);
  const auto seen = other.current().value();
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->session, first->session_id());
  EXPECT_EQ(seen->term, first->term());
  EXPECT_EQ(seen->value, longest);
  EXPECT_EQ(seen->owner.program, "one");
  EXPECT_EQ(other.wait_for_other(seen, 1ms).value(), seen);
  std::optional<result<leadership>> second;
  std::thread candidate([&] { second.emplace(other.campaign("two", {.wait = long_enough})); });
  const token term = first->term();
  EXPECT_TRUE(succeeded(std::move(*first).resign()));
  candidate.join();
  ASSERT_TRUE(succeeded(*second));
  EXPECT_GT((*second)->term(), term);
  const auto next = head.wait_for_other(seen, long_enough).value();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->value, "two");
  EXPECT_EQ(next->term, (*second)->term());
}

}  // namespace
}  // namespace holdfast::promises
