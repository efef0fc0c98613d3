#include "engines/zookeeper/paths.hpp"

#include "engines/zookeeper/escaping.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace holdfast::engines::zookeeper {
namespace {

const paths where("/root");

session_id some_id() { return *session_id::parse(std::string(32, 'a')); }

core::entry some_entry(mode how) {
  return {.owner = some_id(), .inc = 0x1234, .request = 7, .how = how};
}

TEST(zookeeper_paths, an_entry_s_name_says_what_it_is) {
  for (const auto how :
       {mode::exclusive(), mode::shared(), mode::permits(3), mode::permits(mode::permits_max)}) {
    const auto path = where.entry(lock_name("a/b"), some_entry(how), 0xabc) + "0000000012";
    const auto queue = where.queue(lock_name("a/b")) + "/";
    ASSERT_TRUE(path.starts_with(queue));
    const auto e = named_entry::parse(path.substr(queue.size()));
    ASSERT_TRUE(e) << path;
    EXPECT_EQ(e->what.owner, some_id());
    EXPECT_EQ(e->what.inc, 0x1234U);
    EXPECT_EQ(e->what.request, 7U);
    EXPECT_EQ(e->what.how, how);
    EXPECT_EQ(e->place, 12);
  }
}

TEST(zookeeper_paths, other_names_are_no_entries) {
  const std::string id(32, 'a');
  for (const std::string& bad :
       {std::string(), std::string("lock-0000000001"), "y." + id + ".1.1.1.0000000001",
        "p0." + id + ".1.1.1.0000000001", "p1000001." + id + ".1.1.1.0000000001",
        "x." + id + ".1.1.0000000001", "x." + id + ".1.1.1.", "x." + id + ".g.1.1.0000000001",
        "x." + id + ".1.1.1.1.0000000001", "x." + id + ".1.g.1.0000000001",
        "x." + id + ".1.1.g.0000000001", "p." + id + ".1.1.1.0000000001",
        "x." + id.substr(1) + ".1.1.1.0000000001"}) {
    EXPECT_FALSE(named_entry::parse(bad)) << bad;
  }
}

TEST(zookeeper_paths, places_are_ordered_where_they_wrap) {
  named_entry a;
  named_entry b;
  a.place = std::numeric_limits<std::int32_t>::max();
  b.place = std::numeric_limits<std::int32_t>::min();
  EXPECT_LT(a.arrivals_after(b), 0);
  EXPECT_GT(b.arrivals_after(a), 0);
  EXPECT_EQ(a.arrivals_after(a), 0);
  a.place = -1;
  b.place = 0;
  EXPECT_LT(a.arrivals_after(b), 0);
  const auto wrapped = named_entry::parse("x." + std::string(32, 'a') + ".1.1.1.-2147483648");
  ASSERT_TRUE(wrapped);
  EXPECT_EQ(wrapped->place, std::numeric_limits<std::int32_t>::min());
}

TEST(zookeeper_paths, every_name_is_a_node_of_its_own_and_is_read_back) {
  for (const std::string name :
       {".", "..", "a.b", "/", "%", "%2f", "a b", "\xff\xfe", "zookeeper"}) {
    const std::string prefix = where.queues() + "/";
    const auto path = where.queue(lock_name(name));
    const auto node = path.substr(prefix.size());
    EXPECT_EQ(node.find('/'), std::string::npos) << node;
    EXPECT_NE(node, ".");
    EXPECT_NE(node, "..");
    for (const char c : node) EXPECT_TRUE(c > 0x20 && c < 0x7f) << node;
    EXPECT_EQ(parse_queue(node), lock_name(name));
  }
}

TEST(zookeeper_paths, a_node_that_is_no_name_is_refused) {
  EXPECT_FALSE(parse_queue("%"));
  EXPECT_FALSE(parse_queue("%0"));
  EXPECT_FALSE(parse_queue("%zz"));
  EXPECT_FALSE(parse_queue("%00"));
  EXPECT_FALSE(parse_queue(""));
  EXPECT_FALSE(parse_queue(std::string(513, 'x')));
}

TEST(zookeeper_paths, a_line_keeps_what_people_read) {
  const std::string text = "a b/c \xc3\xa4 100%\n\x7f";
  const auto line = escaped(text, escape_for::line);
  EXPECT_EQ(line, "a b/c \xc3\xa4 100%25%0a%7f");
  EXPECT_EQ(unescaped(line), text);
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
