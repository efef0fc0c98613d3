#include "engines/zookeeper/answer_codes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace holdfast::engines::zookeeper {
namespace {

using io::zoo_code;
using codes = std::vector<zoo_code>;

bool has(const codes& all, zoo_code c) { return std::ranges::find(all, c) != all.end(); }

/// Every code that is told apart, and one that is none of them.
const codes every_code{
    zoo_code::ok,
    zoo_code::no_node,
    zoo_code::bad_version,
    zoo_code::node_exists,
    zoo_code::not_empty,
    zoo_code::not_allowed,
    zoo_code::invalid_acl,
    zoo_code::invalid_state,
    zoo_code::session_expired,
    zoo_code::session_moved,
    zoo_code::read_only,
    zoo_code::quota_exceeded,
    zoo_code::throttled,
    zoo_code::unimplemented,
    zoo_code::connection_lost,
    zoo_code::timed_out,
    zoo_code::closing,
    zoo_code::login_failed,
};

TEST(zookeeper_answer_codes, an_answer_says_something_about_a_node) {
  const codes answers{zoo_code::ok, zoo_code::no_node, zoo_code::bad_version, zoo_code::node_exists,
                      zoo_code::not_empty};
  for (const auto c : every_code) EXPECT_EQ(is_answer(c), has(answers, c)) << print(c);
}

// What is no answer and no refusal may have been done: the connection was lost, or timed out.
TEST(zookeeper_answer_codes, a_server_refuses_before_it_does_anything) {
  const codes refusals{zoo_code::not_allowed,     zoo_code::invalid_acl,   zoo_code::invalid_state,
                       zoo_code::session_expired, zoo_code::session_moved, zoo_code::read_only,
                       zoo_code::quota_exceeded,  zoo_code::throttled,     zoo_code::unimplemented};
  for (const auto c : every_code) EXPECT_EQ(is_refusal(c), has(refusals, c)) << print(c);
}

// Whoever is throttled or connected to a server that is left behind asks again; who lacks a right
// waits for an operator.
TEST(zookeeper_answer_codes, what_passes_is_asked_again) {
  const codes stay{zoo_code::not_allowed, zoo_code::invalid_acl, zoo_code::unimplemented,
                   zoo_code::quota_exceeded};
  for (const auto c : every_code) EXPECT_EQ(passes(c), !has(stay, c)) << print(c);
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
