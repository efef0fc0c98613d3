#include "engines/etcd/keys.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::engines::etcd {
namespace {

const key_space keys("t/");

session_id some_id() { return *session_id::parse(std::string(32, 'a')); }

TEST(etcd_keys, an_entry_s_key_says_what_it_is) {
  for (const char* name : {"plain", "a/b", "100%", "two words", "\xc3\xbc"}) {
    for (const auto how :
         {mode::exclusive(), mode::shared(), mode::permits(3), mode::permits(mode::permits_max)}) {
      const auto key = keys.entry(lock_name(name), how, some_id(), 0x1234, 7);
      const auto e = keys.parse_entry(key);
      ASSERT_TRUE(e) << key;
      EXPECT_EQ(e->name, lock_name(name));
      EXPECT_EQ(e->what.owner, some_id());
      EXPECT_EQ(e->what.inc, 0x1234U);
      EXPECT_EQ(e->what.request, 7U);
      EXPECT_EQ(e->what.how, how);
    }
  }
}

TEST(etcd_keys, other_keys_are_no_entries) {
  const std::string id(32, 'a');
  for (const std::string& bad :
       {std::string(), std::string("q/a/x/"), "t/q/a/x/" + id + ".1", "t/q/a/x/" + id + ".1.g",
        "t/q/a/x/" + id + ".1.1.1", "t/q/a/p00000/" + id + ".1.1", "t/q/a/p3/" + id + ".1.1",
        "t/q/a/p02711/" + id + ".1.1", "t/q/a/y00003/" + id + ".1.1", "t/q/a/x/" + id + ".g.1",
        "t/q/a/y/" + id + ".1.1", "t/q//x/" + id + ".1.1", "t/q/a/x/" + id.substr(1) + ".1.1"}) {
    EXPECT_FALSE(keys.parse_entry(bad)) << bad;
  }
}

TEST(etcd_keys, a_name_has_one_form_only) {
  const std::string rest = "/x/" + std::string(32, 'a') + ".1.1";
  EXPECT_TRUE(keys.parse_entry("t/q/a%2fb" + rest));
  for (const char* name : {"a%2Fb", "%61", "two words", "a%", "a%2", "a%zz", "\xff"}) {
    EXPECT_FALSE(keys.parse_entry("t/q/" + std::string(name) + rest)) << name;
  }
}

}  // namespace
}  // namespace holdfast::engines::etcd
