#include "engines/etcd/store.hpp"

#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::engines::etcd {
namespace {

using strings = std::vector<std::string>;

session_id id_of(char digit) { return *session_id::parse(std::string(32, digit)); }

/// Its servers are never asked.
class etcd_store : public testing::Test {
 protected:
  const std::shared_ptr<io::loop> loop_{std::move(io::loop::start().value())};
  const std::shared_ptr<store> store_{
      std::make_shared<store>(std::make_shared<cluster>(settings{}, loop_))};
  const session_id a_{id_of('a')};
  const session_id b_{id_of('b')};
};

TEST_F(etcd_store, the_entries_of_a_session_are_known_until_they_are_forgotten) {
  store_->keep(a_, token{7}, "seven");
  store_->keep(a_, token{8}, "eight");
  store_->keep(b_, token{9}, "nine");
  EXPECT_EQ(store_->keys_of(a_), (strings{"seven", "eight"}));
  store_->forget(b_, token{7});
  store_->forget(a_, token{8});
  EXPECT_EQ(store_->keys_of(a_), strings{"seven"});
  store_->forget_all(a_);
  EXPECT_EQ(store_->keys_of(a_), strings{});
  EXPECT_EQ(store_->key_of(token{7}), "");
  EXPECT_EQ(store_->keys_of(b_), strings{"nine"});
}

// A cluster that was restored from a backup gives orders a second time.
TEST_F(etcd_store, an_order_that_another_session_has_now_is_its_own_alone) {
  store_->keep(a_, token{7}, "before");
  store_->keep(b_, token{7}, "behind");
  EXPECT_EQ(store_->keys_of(a_), strings{});
  store_->forget_all(a_);
  EXPECT_EQ(store_->keys_of(b_), strings{"behind"});
  store_->keep(a_, token{7}, "again");
  store_->forget_all(b_);
  EXPECT_EQ(store_->keys_of(a_), strings{"again"});
}

TEST_F(etcd_store, an_entry_that_is_kept_again_is_one) {
  store_->keep(a_, token{7}, "once");
  store_->keep(a_, token{7}, "twice");
  EXPECT_EQ(store_->keys_of(a_), strings{"twice"});
}

}  // namespace
}  // namespace holdfast::engines::etcd
