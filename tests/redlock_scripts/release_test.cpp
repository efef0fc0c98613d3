#include "tests/redlock_scripts/node.hpp"

#include "engines/redlock/keys.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::redis_tests {
namespace {

using namespace std::chrono_literals;

struct release_script : testing::Test {
  release_script() {
    n.init();
    n.acquire("a", value(1));
  }
  node n;
};

TEST_F(release_script, deletes_our_own_key_once) {
  EXPECT_EQ(n.release("a", value(1)), integer(1));
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
  EXPECT_EQ(n.release("a", value(1)), integer(0));
}

TEST_F(release_script, never_deletes_anothers_key) {
  EXPECT_EQ(n.release("a", value(2)), integer(0));
  EXPECT_EQ(n.release("a", value(1).substr(1)), integer(0));
  EXPECT_EQ(n.release("a", value(1) + "0"), integer(0));
  EXPECT_EQ(n.command({"GET", "a"}), text(value(1)));
}

TEST_F(release_script, leaves_another_type_of_value_alone) {
  n.command({"RPUSH", "list", value(1)});
  EXPECT_EQ(n.release("list", value(1)), integer(0));
  EXPECT_EQ(n.command({"LLEN", "list"}), integer(1));
}

TEST_F(release_script, works_where_the_node_is_not_admitted) {
  n.set_field("epoch", "0");
  EXPECT_EQ(n.release("a", value(1)), integer(1));
  n.command({"DEL", "holdfast:node"});
  n.command({"SET", "a", value(2), "NX", "PX", "5000"});
  EXPECT_EQ(n.release("a", value(2)), integer(1));
}

TEST_F(release_script, works_when_memory_is_out) {
  n.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(n.release("a", value(1)), integer(1));
}

/// A client that waits for "a".
struct waiting {
  waiting(node& n, unsigned at) : seat(at), by(n.of.connect()) {
    for (const std::string& c : {redlock::free_channel("a"), redlock::seat_channel("a", seat)}) {
      by.command({"SUBSCRIBE", c});
    }
  }
  bool is_called() {
    const answer pong = array({text("pong"), text("")});
    const answer first = by.command({"PING"});
    if (first == pong) return false;
    EXPECT_EQ(first,
              array({text("message"), text(redlock::seat_channel("a", seat)), text("released")}));
    EXPECT_EQ(by.read(10s), pong);
    return true;
  }
  unsigned seat;
  connection by;
};

TEST_F(release_script, calls_nobody_when_nothing_was_released) {
  waiting w(n, 3);
  EXPECT_EQ(n.release("a", value(2)), integer(0));
  EXPECT_FALSE(w.is_called());
}

TEST_F(release_script, calls_the_next_seat_and_no_other) {
  waiting first(n, 3), second(n, 4), last(n, 63);
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(1), "3", "0", "0"}), integer(3));
  EXPECT_TRUE(second.is_called());
  EXPECT_FALSE(first.is_called() || last.is_called());
  n.acquire("a", value(2));
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(2), "4", "0", "0"}), integer(3));
  EXPECT_TRUE(last.is_called());
  EXPECT_FALSE(first.is_called() || second.is_called());
  n.acquire("a", value(3));
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(3), "63", "0", "0"}), integer(3));
  EXPECT_TRUE(first.is_called()) << "the seats are a circle";
  EXPECT_FALSE(second.is_called() || last.is_called());
}

TEST_F(release_script, finds_the_one_who_waits_in_every_seat) {
  for (unsigned seat = 0; seat < redlock::seats; ++seat) {
    waiting w(n, seat);
    n.acquire("a", value(seat + 1));
    EXPECT_EQ(n.release("a", value(seat + 1)), integer(3)) << seat;
    EXPECT_TRUE(w.is_called()) << seat;
  }
}

TEST_F(release_script, does_not_count_the_client_that_releases) {
  waiting self(n, 3);
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(1), "3", "1", "0"}), integer(1));
  EXPECT_FALSE(self.is_called());
  waiting same_seat(n, 3);
  n.acquire("a", value(2));
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(2), "3", "1", "0"}), integer(3));
  EXPECT_TRUE(same_seat.is_called()) << "another one may sit there";
  waiting elsewhere(n, 9);
  n.acquire("a", value(3));
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(3), "3", "1", "0"}), integer(3));
  EXPECT_TRUE(elsewhere.is_called()) << "it sits in one seat only";
  EXPECT_FALSE(same_seat.is_called());
}

TEST_F(release_script, who_has_no_seat_yet_is_told_with_all) {
  waiting self(n, 3);
  connection newcomer = n.of.connect();
  newcomer.command({"SUBSCRIBE", redlock::free_channel("a")});
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(1), "3", "1", "0"}), integer(3));
  for (connection* c : {&newcomer, &self.by}) {
    EXPECT_EQ(c->read(10s),
              array({text("message"), text(redlock::free_channel("a")), text("released")}));
  }
  EXPECT_FALSE(self.is_called());
}

TEST_F(release_script, calls_nobody_who_waits_for_that_name_in_another_database) {
  waiting here(n, 3);
  connection there = n.of.connect();
  for (const std::string& c : {redlock::free_channel("a", 3), redlock::seat_channel("a", 4, 3)}) {
    there.command({"SUBSCRIBE", c});
  }
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(1), "3", "1", "0"}), integer(1));
  n.acquire("a", value(2));
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(2), "", "0", "0", "@3:"}), integer(3));
  EXPECT_EQ(there.read(10s),
            array({text("message"), text(redlock::seat_channel("a", 4, 3)), text("released")}));
  EXPECT_FALSE(here.is_called());
}

// So that of many who wait none is always the first.
TEST_F(release_script, who_has_no_seat_begins_where_its_value_says) {
  waiting one(n, 20), two(n, 50);
  const std::vector<std::pair<std::string, waiting*>> all{
      {"13", &one}, {"14", &two}, {"31", &two}, {"32", &one}, {"zz", &one}};
  for (const auto& [begin, called] : all) {
    const std::string own = begin + value(2).substr(2);
    n.command({"SET", "a", own});
    EXPECT_EQ(n.release("a", own), integer(3));
    for (waiting* w : {&one, &two}) EXPECT_EQ(w->is_called(), w == called) << begin;
  }
}

TEST_F(release_script, keeps_it_from_the_others_and_says_that_they_wait) {
  waiting w(n, 9);
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(1), "3", "0", "1"}), integer(3));
  EXPECT_FALSE(w.is_called());
  n.acquire("b", value(2));
  EXPECT_EQ(n.run(scripts::release, {"b"}, {value(2), "3", "0", "1"}), integer(1));
}

TEST_F(release_script, counts_nobody_where_it_is_not_asked) {
  waiting w(n, 9);
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(1), "3", "0", "2"}), integer(2));
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
  EXPECT_FALSE(w.is_called());
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(1), "3", "0", "2"}), integer(0));
  n.acquire("a", value(2));
  EXPECT_EQ(n.run(scripts::release, {"a"}, {value(1), "3", "0", "2"}), integer(0));
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(1)) << "of somebody else";
}

TEST_F(release_script, a_call_without_a_release_is_for_a_lock_that_is_free) {
  waiting w(n, 9);
  const std::vector<std::string> call{"", "3", "0", "0"};
  EXPECT_EQ(n.run(scripts::release, {"a"}, call), integer(0));
  n.command({"SET", "a", ""});
  EXPECT_EQ(n.run(scripts::release, {"a"}, call), integer(0)) << "it deletes nothing";
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(1));
  EXPECT_FALSE(w.is_called());
  n.command({"DEL", "a"});
  EXPECT_EQ(n.run(scripts::release, {"a"}, {"", "3", "1", "0"}), integer(1)) << "it is its own";
  EXPECT_FALSE(w.is_called());
  EXPECT_EQ(n.run(scripts::release, {"a"}, call), integer(3));
  EXPECT_TRUE(w.is_called());
}

TEST_F(release_script, tells_everybody_where_it_may_not_count_them) {
  n.command({"ACL", "SETUSER", "u", "on", ">pw", "~*", "&*", "+@all", "-pubsub"});
  connection by = n.of.connect("u", "pw");
  waiting one(n, 1), two(n, 2);
  EXPECT_EQ(n.run(by, scripts::release, {"a"}, {value(1)}), integer(2));
  n.acquire("a", value(2));
  EXPECT_EQ(n.run(by, scripts::release, {"a"}, {value(2), "0", "0", "1"}), integer(2));
  for (waiting* w : {&one, &two}) {
    EXPECT_EQ(w->by.read(10s),
              array({text("message"), text(redlock::free_channel("a")), text("released")}));
    EXPECT_FALSE(w->is_called()) << "and of what is kept nobody";
  }
}

TEST_F(release_script, another_locks_waiters_are_not_called) {
  waiting w(n, 3);
  n.acquire("3:a", value(2));
  EXPECT_EQ(n.release("3:a", value(2)), integer(1));
  EXPECT_FALSE(w.is_called());
}

TEST_F(release_script, frees_the_lock_also_where_it_may_not_publish) {
  n.command({"ACL", "SETUSER", "quiet", "on", ">pw", "~*", "resetchannels", "+@all", "-pubsub"});
  connection by = n.of.connect("quiet", "pw");
  EXPECT_EQ(n.run(by, scripts::release, {"a"}, {value(1)}), integer(2));
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
  n.command({"ACL", "SETUSER", "quiet", "+pubsub"});
  waiting seated(n, 3);
  n.acquire("a", value(2));
  EXPECT_EQ(n.run(by, scripts::release, {"a"}, {value(2)}), integer(2));
  connection newcomer = n.of.connect();
  newcomer.command({"SUBSCRIBE", redlock::free_channel("a")});
  n.acquire("a", value(3));
  EXPECT_EQ(n.run(by, scripts::release, {"a"}, {value(3), "3", "1", "0"}), integer(2));
  EXPECT_EQ(n.command({"EXISTS", "a"}), integer(0));
}

TEST_F(release_script, says_that_the_disk_fails_by_the_servers_own_word) {
  n.command({"CONFIG", "SET", "save", "1 1"});
  std::filesystem::remove_all(n.of.directory());
  n.command({"BGSAVE"});
  ASSERT_TRUE(process::eventually([&] {
    return n.command({"INFO", "persistence"}).text.find("rdb_last_bgsave_status:err") !=
           std::string::npos;
  }));
  EXPECT_EQ(n.acquire("b", value(2)).error_word(), "MISCONF");
  EXPECT_EQ(n.release("a", value(1)).error_word(), "MISCONF");
  EXPECT_EQ(n.command({"GET", "a"}), text(value(1)));
}

}  // namespace
}  // namespace holdfast::redis_tests
