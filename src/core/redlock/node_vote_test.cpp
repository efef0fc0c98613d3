#include "core/redlock/node_vote.hpp"

#include "gtest/gtest.h"

#include <set>
#include <string>

namespace holdfast::core::redlock {
namespace {

using namespace std::chrono_literals;

TEST(node_vote, what_was_not_answered_may_have_been_done) {
  for (const fault f : {fault::silent, fault::connection_lost, fault::garbled}) {
    EXPECT_EQ(node_vote::of(f).what, vote::unknown);
  }
  EXPECT_EQ(node_vote::of(fault::unreachable).what, vote::failed) << "it was never sent";
}

TEST(node_vote, a_possible_restart_is_looked_at_again) {
  for (const fault f : {fault::script_missing, fault::not_admitted, fault::epoch_moved,
                        fault::loading, fault::replica, fault::connection_lost}) {
    EXPECT_TRUE(action_on(f).look_again) << action_on(f).text;
  }
  EXPECT_FALSE(action_on(fault::out_of_memory).look_again);
}

TEST(node_vote, every_fault_has_words_of_its_own) {
  std::set<std::string> texts;
  for (auto f = static_cast<int>(fault::none); f <= static_cast<int>(fault::refused); ++f) {
    const char* text = action_on(static_cast<fault>(f)).text;
    ASSERT_NE(text, nullptr);
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

TEST(node_vote, carries_what_the_node_said) {
  EXPECT_EQ(node_vote::granted(7).counter, 7U);
  EXPECT_EQ(node_vote::taken(5s).left, 5s);
  EXPECT_EQ(node_vote::of(fault::epoch_moved, 9).epoch, 9U);
}

}  // namespace
}  // namespace holdfast::core::redlock
