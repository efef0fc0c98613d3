#include "engines/zookeeper/store_opening.hpp"

#include "engines/zookeeper/codec.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::zookeeper {
namespace {

using kind = zoo_request::kind;
using outcome = store_opening::step::outcome;
using names = std::vector<std::string>;

const zoo_reply no_node{.code = zoo_code::no_node};

zoo_reply with(std::string_view data) { return {.code = zoo_code::ok, .data = std::string(data)}; }
/// The paths that are made, in order.
names made(const std::vector<zoo_request>& all) {
  names paths;
  for (const auto& r : all) {
    if (r.what == kind::create) paths.push_back(r.path);
  }
  return paths;
}

TEST(zookeeper_store_opening, looks_before_it_makes_anything) {
  const store_opening o(paths("/a/b"));
  EXPECT_TRUE(made(o.look()).empty());
  EXPECT_EQ(o.look().front().what, kind::sync) << "a follower may be behind";
}

TEST(zookeeper_store_opening, is_ready_when_both_nodes_are_there) {
  store_opening o(paths("/a/b"));
  EXPECT_EQ(o.took({{}, with(store_format), with("")}).what, outcome::ready);
}

TEST(zookeeper_store_opening, refuses_nodes_of_another_format) {
  store_opening o(paths("/a/b"));
  const auto s = o.took({{}, with("holdfast-store 2\n"), no_node});
  EXPECT_EQ(s.what, outcome::refused);
  EXPECT_EQ(s.status, core::status::damaged);
  EXPECT_NE(s.why.find("/a/b/s"), std::string::npos) << s.why;
}

TEST(zookeeper_store_opening, makes_one_more_level_above_with_each_try) {
  store_opening o(paths("/a/b"));
  auto s = o.took({{}, no_node, no_node});
  ASSERT_EQ(s.what, outcome::asks);
  EXPECT_EQ(made(s.requests), (names{"/a/b/s", "/a/b/q"}));
  EXPECT_EQ(s.requests.back().what, kind::get) << "and looks at once";
  s = o.took({no_node, no_node, no_node, no_node});
  EXPECT_EQ(made(s.requests), (names{"/a/b", "/a/b/s", "/a/b/q"}));
  s = o.took({no_node, no_node, no_node, no_node, no_node});
  EXPECT_EQ(made(s.requests), (names{"/a", "/a/b", "/a/b/s", "/a/b/q"}));
  EXPECT_EQ(o.took({{}, {}, {}, {}, with(store_format), with("")}).what, outcome::ready);
}

TEST(zookeeper_store_opening, gives_up_when_all_levels_were_made_and_nothing_stays) {
  store_opening o(paths("/a/b"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(o.took({no_node, no_node}).what, outcome::asks);
  const auto s = o.took({no_node, no_node});
  EXPECT_EQ(s.what, outcome::refused);
  EXPECT_EQ(s.status, core::status::unavailable);
}

TEST(zookeeper_store_opening, a_node_of_the_queues_alone_is_no_store) {
  store_opening o(paths("/a/b"));
  EXPECT_EQ(o.took({{}, no_node, with("")}).what, outcome::asks);
  EXPECT_EQ(o.took({{}, with(store_format), no_node}).what, outcome::asks);
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
