#include "engines/etcd/tables.hpp"

#include "engines/etcd/codec.hpp"

#include <gtest/gtest.h>

#include <list>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::engines::etcd {
namespace {

using namespace std::chrono_literals;

session_id session_of(char digit) { return *session_id::parse(std::string(32, digit)); }

/// Sessions and entries as a server would tell them.
class etcd_tables : public testing::Test {
 protected:
  struct revisions {
    std::int64_t create{};
    std::int64_t mod{};
    std::int64_t version{1};
  };
  void put(std::string key, std::string value, revisions at) {
    const auto& k = kept_.emplace_back(std::move(key));
    const auto& v = kept_.emplace_back(std::move(value));
    keys_.all.push_back(
        {.key = k, .value = v, .create = at.create, .mod = at.mod, .version = at.version});
  }
  void put_session(char who, std::int64_t created) {
    core::session_record s;
    s.ttl = 30s;
    put(where_.session(session_of(who)), encode(s), {.create = created, .mod = created});
  }
  void put_entry(char who, std::uint64_t inc, std::uint64_t request, std::int64_t created) {
    put(where_.entry(lock_name("a"), mode::exclusive(), session_of(who), inc, request),
        encode_entry({}), {.create = created, .mod = created});
  }
  session_table sessions() const {
    session_table all;
    all.add(where_, keys_);
    return all;
  }
  entry_table entries() const { return {where_, 1, keys_}; }

  const key_space where_{"t/"};
  wire::etcd::range_reply keys_;

 private:
  std::list<std::string> kept_;
};

TEST_F(etcd_tables, a_record_is_put_together_from_its_keys) {
  const auto a = session_of('a');
  put_session('a', 5);
  put(where_.beat(a), {}, {.create = 6, .mod = 9, .version = 3});
  put(where_.deny(a), encode(denial_note{.by = "me", .why = "why"}), {.create = 8, .mod = 8});
  put(where_.gate(a), {}, {.create = 7, .mod = 10, .version = 2});
  const auto all = sessions();
  const auto* s = all.find(a);
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(s->at, (core::version{.inc = 5, .beat = 9, .denied = true}));
  EXPECT_EQ(s->gate, 3U);
  EXPECT_EQ(s->denied_by, "me");
  EXPECT_TRUE(all.damage().empty());
}

TEST_F(etcd_tables, what_is_no_record_of_ours_is_damage) {
  const auto damage_of = [this](std::string key, std::string value) {
    keys_ = {};
    put(std::move(key), std::move(value), {.create = 1, .mod = 1});
    return sessions().damage();
  };
  EXPECT_EQ(damage_of("t/s/junk", ""), "t/s/junk");
  EXPECT_EQ(damage_of(where_.session(session_of('a')), "by hand"), where_.session(session_of('a')));
  session_table whole;
  whole.add(sessions());
  EXPECT_FALSE(whole.damage().empty()) << "it is lost where tables are joined";
}

TEST_F(etcd_tables, what_is_no_entry_of_ours_is_damage) {
  const auto key = where_.entry(lock_name("a"), mode::exclusive(), session_of('a'), 5, 1);
  const auto damage_of = [this](std::string of, std::string value, std::int64_t created) {
    keys_ = {};
    put(std::move(of), std::move(value), {.create = created, .mod = created});
    return entries().damage();
  };
  EXPECT_EQ(damage_of(key, encode_entry({}), 9), "");
  EXPECT_EQ(damage_of("t/q/a/x/junk", encode_entry({}), 9), "t/q/a/x/junk");
  EXPECT_EQ(damage_of(key, "by hand", 9), key);
  EXPECT_EQ(damage_of(key, encode_entry({}), std::int64_t{1} << revision_bits), key)
      << "no token can be its order";
}

// Keys come in the order of their names, and entries have that of their revisions.
TEST_F(etcd_tables, entries_are_in_the_order_of_their_revisions) {
  put_entry('a', 5, 1, 30);
  put_entry('b', 6, 1, 10);
  put_entry('c', 7, 1, 20);
  std::vector<session_id> owners;
  for (const auto& e : entries().entries()) owners.push_back(e.owner);
  EXPECT_EQ(owners, (std::vector{session_of('b'), session_of('c'), session_of('a')}));
}

TEST_F(etcd_tables, an_entry_lives_with_the_incarnation_that_made_it) {
  put_session('a', 50);
  const auto there = sessions();
  keys_ = {};
  put_entry('a', 40, 1, 41);
  put_entry('a', 50, 1, 51);
  put_entry('b', 60, 1, 61);
  const auto all = entries();
  const auto live = all.live(there);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].inc, 50U);
  EXPECT_EQ(all.dead_keys(there), (std::vector<std::string>{all.all()[0].key, all.all()[2].key}));
}

TEST_F(etcd_tables, a_request_is_found_by_its_session_incarnation_and_number) {
  put_entry('a', 5, 1, 10);
  const auto all = entries();
  EXPECT_NE(all.find(session_of('a'), 5, 1), nullptr);
  EXPECT_EQ(all.find(session_of('b'), 5, 1), nullptr);
  EXPECT_EQ(all.find(session_of('a'), 6, 1), nullptr);
  EXPECT_EQ(all.find(session_of('a'), 5, 2), nullptr);
}

// The epoch may have grown since a token was given.
TEST_F(etcd_tables, an_order_is_found_by_its_revision_in_any_epoch) {
  put_entry('a', 5, 1, 10);
  EXPECT_NE(entries().find(token_of(3, 10)), nullptr);
  EXPECT_EQ(entries().find(token_of(3, 11)), nullptr);
}

TEST_F(etcd_tables, a_session_that_is_gone_or_denied_may_do_nothing) {
  put_session('a', 5);
  EXPECT_FALSE(refusal(sessions(), session_of('a'), 5));
  EXPECT_EQ(refusal(sessions(), session_of('a'), 4)->what, core::status::gone);
  EXPECT_EQ(refusal(sessions(), session_of('b'), 5)->what, core::status::gone);
  put(where_.deny(session_of('a')), encode(denial_note{}), {.create = 8, .mod = 8});
  EXPECT_EQ(refusal(sessions(), session_of('a'), 5)->what, core::status::denied);
}

}  // namespace
}  // namespace holdfast::engines::etcd
