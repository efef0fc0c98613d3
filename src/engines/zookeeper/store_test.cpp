#include "engines/zookeeper/store.hpp"

#include "engines/zookeeper/settings.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::zookeeper {
namespace {

session_id session(char digit) { return *session_id::parse(std::string(32, digit)); }

/// It is asked for nothing that needs a server.
std::shared_ptr<store> fresh() {
  auto set = read_settings(core::store_url::parse("zookeeper://127.0.0.1:1/t").value());
  return std::make_shared<store>(std::make_shared<ensemble>(std::move(set.value()), nullptr));
}

using paths_left = std::vector<std::string>;

TEST(zookeeper_store, a_session_that_ends_leaves_all_that_it_has) {
  const auto s = fresh();
  s->keep(session('a'), token{7}, "/seven");
  s->keep(session('b'), token{8}, "/eight");
  s->keep(session('a'), token{9}, "/nine");
  s->forget(session('b'), token{9});
  EXPECT_EQ(s->forget_all(session('a')), (paths_left{"/seven", "/nine"}));
  EXPECT_EQ(s->path_of(token{7}), "");
  EXPECT_EQ(s->path_of(token{8}), "/eight");
  EXPECT_TRUE(s->forget_all(session('a')).empty());
}

// Transactions begin again after a restore: two sessions may have had the same one.
TEST(zookeeper_store, an_order_that_comes_again_is_the_later_session_s) {
  const auto s = fresh();
  s->keep(session('a'), token{7}, "/old");
  s->keep(session('b'), token{7}, "/new");
  EXPECT_TRUE(s->forget_all(session('a')).empty());
  EXPECT_EQ(s->path_of(token{7}), "/new");

  s->keep(session('c'), token{7}, "/newer");
  s->forget(session('c'), token{7});
  EXPECT_TRUE(s->forget_all(session('b')).empty());
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
