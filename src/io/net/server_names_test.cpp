#include "io/net/server_names.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace holdfast::io {
namespace {

result<std::string> of(std::vector<std::string> hosts) {
  std::vector<node_address> all;
  for (const auto& h : hosts) all.push_back(node_address::parse(h, 6379).value());
  return server_names(all);
}

TEST(server_names, do_not_depend_on_the_order_of_the_url) {
  EXPECT_EQ(of({"b", "a:1"}).value(), "a:1,b:6379");
  EXPECT_EQ(of({"a:1", "b"}).value(), of({"b", "a:1"}).value());
  EXPECT_NE(of({"a"}).value(), of({"b"}).value());
}

bool has_machine_id() {
  std::ifstream file("/etc/machine-id");
  std::string line;
  return std::getline(file, line) && line.size() == 32;
}

// Two machines' own servers would else be one store, and their tokens would be compared.
TEST(server_names, carry_a_mark_of_the_machine_where_they_mean_another_server_on_each) {
  for (const char* host :
       {"localhost", "LocalHost", "localhost.", "x.localhost", "127.0.0.1", "127.1.2.3", "127.1",
        "0x7f.1", "2130706433", "0.0.0.0", "0", "[::]", "[::1]", "[::1%lo]", "[0::0:1]",
        "[::ffff:127.0.0.1]", "[::ffff:0.0.0.0]", "unix:/run/r.sock"}) {
    const auto text = of({"a", host});
    ASSERT_EQ(static_cast<bool>(text), has_machine_id());
    if (!text) {
      EXPECT_NE(text.error().message().find("/etc/machine-id"), std::string::npos);
      continue;
    }
    const auto mark = text->find('@');
    EXPECT_NE(mark, std::string::npos) << host;
    EXPECT_EQ(text->size() - std::min(mark, text->size()), 17U);
  }
  for (const char* host :
       {"10.0.0.1", "[::ffff:10.0.0.1]", "[fd00::1]", "[::2]", "[::1ff:127.0.0.1]",
        "[::ff00:127.0.0.1]", "[fd00::ffff:127.0.0.1]", "127.example", "0.example"}) {
    EXPECT_EQ(of({host}).value().find('@'), std::string::npos) << host;
  }
}

/// Whoever made another would have another store, whose tokens no fence of before admits.
TEST(server_names, do_not_ask_for_a_new_mark_where_the_old_one_cannot_be_read) {
  if (!has_machine_id()) GTEST_SKIP() << "this machine has none";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto text = of({"localhost"});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error(), errc::unavailable);
  EXPECT_NE(text.error().message().find("Too many open files"), std::string::npos);
  EXPECT_EQ(text.error().message().find("uuid"), std::string::npos) << text.error().message();
}

}  // namespace
}  // namespace holdfast::io
