#include "engines/zookeeper/queue_look.hpp"

#include "core/engine.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace holdfast::engines::zookeeper {
namespace {

using core::status;

std::string node(char letter, char id, int request, int place) {
  char number[16];
  std::snprintf(number, sizeof number, "%010d", place);
  return std::string(1, letter) + (letter == 'p' ? "2" : "") + "." + std::string(32, id) + ".1." +
         std::to_string(request) + ".0." + number;
}

session_id id_of(char id) { return *session_id::parse(std::string(32, id)); }

TEST(zookeeper_queue_look, names_are_put_in_order) {
  const queue_names names({node('x', 'b', 1, 2), node('s', 'a', 1, 1), node('x', 'c', 1, 10)});
  ASSERT_EQ(names.all().size(), 3U);
  EXPECT_TRUE(names.damage().empty());
  EXPECT_EQ(names.all()[0].what.owner, id_of('a'));
  EXPECT_EQ(names.all()[2].what.owner, id_of('c'));
  EXPECT_EQ(names.older_than(names.all()[2]).size(), 2U);
  EXPECT_TRUE(names.older_than(names.all()[0]).empty());
}

TEST(zookeeper_queue_look, what_came_too_long_ago_to_be_told_by_its_number_counts_as_older) {
  const auto older = [](int a, int mine) {
    const queue_names names({node('s', 'a', 1, a), node('x', 'b', 1, mine)});
    const auto found = names.older_than(*names.find(node('x', 'b', 1, mine)));
    return found.size() == 1 && found[0].place == a;
  };
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  EXPECT_TRUE(older(1, 2));
  EXPECT_FALSE(older(2, 1));
  EXPECT_TRUE(older(-5, -5 + arrivals_told));
  // It came 2^31 and some arrivals before, or a few less than that later.
  EXPECT_TRUE(older(0, least + 5));
  EXPECT_TRUE(older(least + 7, 3));
  EXPECT_FALSE(older(arrivals_told - 1, 0));
}

TEST(zookeeper_queue_look, entries_of_any_distance_have_one_order) {
  std::vector<std::string> nodes;
  for (std::uint32_t i = 0; i < 500; ++i) {
    nodes.push_back(node('x', 'a', 1 + static_cast<int>(i), static_cast<int>(i * 8'589'935U)));
  }
  const queue_names names(nodes);
  EXPECT_EQ(names.all().size(), 500U);
  for (std::size_t i = 1; i < names.all().size(); ++i) {
    const auto& first = *names.find(nodes.front());
    EXPECT_LT(names.all()[i - 1].arrivals_after(first), names.all()[i].arrivals_after(first));
  }
}

TEST(zookeeper_queue_look, of_one_request_made_twice_the_older_is_found) {
  const queue_names names({node('x', 'a', 1, 7), node('x', 'a', 1, 3), node('x', 'a', 2, 1)});
  const auto* found = names.find(id_of('a'), 1, 1);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->place, 3);
  EXPECT_EQ(names.find(id_of('a'), 2, 1), nullptr);
  EXPECT_EQ(names.find(id_of('b'), 1, 1), nullptr);
}

TEST(zookeeper_queue_look, a_foreign_name_is_damage) {
  EXPECT_EQ(queue_names({node('x', 'a', 1, 1), "lock-0000000002"}).damage(), "lock-0000000002");
}

TEST(zookeeper_queue_look, only_what_dead_entries_cannot_change_is_sure) {
  const auto older = [](const std::vector<std::string>& nodes) { return queue_names(nodes).all(); };
  EXPECT_TRUE(surely_granted({}, mode::exclusive()));
  EXPECT_FALSE(surely_granted(older({node('s', 'a', 1, 1)}), mode::exclusive()));
  EXPECT_TRUE(surely_granted(older({node('s', 'a', 1, 1)}), mode::shared()));
  EXPECT_FALSE(surely_granted(older({node('x', 'a', 1, 1)}), mode::shared()));
  EXPECT_TRUE(surely_granted(older({node('p', 'a', 1, 1)}), mode::permits(2)));
  EXPECT_FALSE(surely_granted(older({node('p', 'a', 1, 1)}), mode::permits(3)));
  EXPECT_FALSE(
      surely_granted(older({node('p', 'a', 1, 1), node('p', 'b', 1, 2)}), mode::permits(2)));
}

TEST(zookeeper_queue_look, one_more_than_may_be_in_a_queue_is_not_sure) {
  std::vector<std::string> nodes;
  for (int i = 1; i < static_cast<int>(core::waiters_max); ++i) {
    nodes.push_back(node('s', 'a', i, i));
  }
  EXPECT_TRUE(surely_granted(queue_names(nodes).all(), mode::shared()));
  nodes.push_back(node('s', 'a', 1, static_cast<int>(core::waiters_max)));
  EXPECT_FALSE(surely_granted(queue_names(nodes).all(), mode::shared()));
}

TEST(zookeeper_queue_look, nothing_is_granted_past_an_entry_of_another_mode) {
  queue_picture p;
  const auto add = [&](char id, std::uint64_t order, mode how) {
    p.live.push_back({.order = token{order}, .owner = id_of(id), .inc = 1, .how = how});
    p.sessions[id_of(id)];
  };
  core::entry mine{.order = token{9}, .owner = id_of('f'), .inc = 1, .how = mode::permits(3)};
  add('a', 1, mode::permits(3));
  EXPECT_EQ(view_of(p, mine).what, status::ok);
  add('b', 2, mode::exclusive());
  auto v = view_of(p, mine);
  EXPECT_EQ(v.what, status::queued);
  EXPECT_EQ(v.targets, std::vector{token{2}});
  EXPECT_EQ(v.ahead.size(), 2U);
  p.live.erase(p.live.begin());
  EXPECT_EQ(view_of(p, mine).what, status::queued) << "the other one may hold it now";
  mine.how = mode::shared();
  EXPECT_EQ(view_of(p, mine).targets, std::vector{token{2}});
}

TEST(zookeeper_queue_look, a_record_that_is_not_there_or_denied_is_judged) {
  zoo_reply r;
  r.code = zoo_code::no_node;
  EXPECT_EQ(judge(id_of('a'), 5, r).what, status::gone);
  r.code = zoo_code::ok;
  r.data = "foreign";
  EXPECT_EQ(judge(id_of('a'), 5, r).what, status::damaged);
  r.data = "holdfast-session 1\nttl 1000000000\n";
  r.stat.created = 5;
  r.stat.version = 3;
  EXPECT_EQ(judge(id_of('a'), 5, r).what, status::ok);
  EXPECT_EQ(judge(id_of('a'), 6, r).what, status::gone);
  EXPECT_EQ(record_in(id_of('a'), r)->at, (core::version{5, 3, false}));
  r.data += "denied 1\nby me\n";
  EXPECT_EQ(judge(id_of('a'), 5, r).what, status::denied);
  EXPECT_EQ(record_in(id_of('a'), r)->at, (core::version{5, 2, true}));
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
