#include "engines/redlock/keys.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/contest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::redlock_tests {

namespace {

namespace engine = engines::redlock;
using redis_tests::connection;
using testing::Each;
using testing::Ge;

const std::string plain = "ttl=5s&tokens=off&assume_fresh=yes";

/// Clients, each with connections of its own and so many threads, that want one lock all the time.
class turns {
 public:
  turns(const five_nodes& nodes, const std::vector<std::size_t>& threads) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      for (std::size_t k = 0; k < threads[i]; ++k) sessions_.push_back(nodes.open(plain, i));
      owners_.resize(sessions_.size(), i);
    }
    shares_.resize(threads.size());
  }

  /// How many of so many grants each client had.
  const std::vector<std::size_t>& take(std::size_t grants) {
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < sessions_.size(); ++t) {
      all.emplace_back([this, t, grants] { contend(sessions_[t], owners_[t], grants); });
    }
    for (auto& t : all) t.join();
    return shares_;
  }

 private:
  void contend(session& by, std::size_t me, std::size_t grants) {
    ++ready_;
    while (ready_ < sessions_.size()) std::this_thread::yield();
    while (taken_ < grants) {
      auto l = by.acquire(lock_name("wanted"), {.wait = 30s});
      ASSERT_TRUE(l) << l.error().message();
      if (taken_ < grants) ++shares_[me];
      ++taken_;
      EXPECT_TRUE(std::move(*l).release());
    }
  }

  std::vector<session> sessions_;
  std::vector<std::size_t> owners_;
  std::atomic<std::size_t> ready_{};
  std::atomic<std::size_t> taken_{};
  std::vector<std::size_t> shares_;  // Written by who has the lock.
};

/// How often a node ran a command.
std::uint64_t calls_of(server& s, const std::string& command) {
  const std::string all = s.command({"INFO", "commandstats"}).text;
  const std::string key = "cmdstat_" + command + ":calls=";
  const auto at = all.find(key);
  return at == std::string::npos ? 0 : std::strtoull(all.c_str() + at + key.size(), nullptr, 10);
}

/// The channels of "wanted" that somebody hears, on each node.
std::vector<std::size_t> heard(five_nodes& nodes) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    all.push_back(
        nodes[i].command({"PUBSUB", "CHANNELS", "holdfast:free:*:wanted"}).elements.size());
  }
  return all;
}

TEST(redlock_waiting, clients_take_turns) {
  five_nodes nodes;
  turns t(nodes, {1, 1, 1, 1});
  EXPECT_THAT(t.take(100), Each(Ge(12U)));
}

TEST(redlock_waiting, a_client_with_many_waiters_lets_others_by) {
  five_nodes nodes;
  turns t(nodes, {6, 1});
  const auto& shares = t.take(100);
  EXPECT_GE(shares[1], 8U);
  EXPECT_GE(shares[0], 30U);
}

/// One client has three waiters all the time, each of which holds for so long. Whether another one,
/// with this URL, has the lock three times before they had it 150 times.
bool gets_its_share(const five_nodes& nodes, const std::string& url,
                    std::chrono::milliseconds hold) {
  std::atomic<bool> over{};
  std::atomic<std::size_t> theirs{};
  std::vector<std::thread> all;
  for (int k = 0; k < 3; ++k) {
    all.emplace_back([&, s = nodes.open(plain)]() mutable {
      while (!over) {
        auto l = s.acquire(lock_name("wanted"), {.wait = 30s});
        ASSERT_TRUE(l) << l.error().message();
        ++theirs;
        std::this_thread::sleep_for(hold);
        EXPECT_TRUE(std::move(*l).release());
      }
    });
  }
  EXPECT_TRUE(process::eventually([&] { return theirs >= 2; }));
  auto other = holdfast::open(url);
  EXPECT_TRUE(other) << other.error().message();
  std::size_t mine = 0;
  for (const std::size_t from = theirs; other && mine < 3 && theirs < from + 150;) {
    auto l = other->acquire(lock_name("wanted"), {.wait = 1s});
    if (l) ++mine;
  }
  over = true;
  for (auto& t : all) t.join();
  return mine == 3;
}

/// The URL of a user that every node knows but for `without`.
std::string url_of_user(five_nodes& nodes, std::vector<std::string> rules,
                        std::optional<std::size_t> without = {}) {
  rules.insert(rules.begin(), {"ACL", "SETUSER", "b", "on", ">pw", "~*", "&*", "+@all"});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i != without) nodes[i].command(rules);
  }
  return nodes.url(plain, 1).insert(std::string_view("redlock://").size(), "b:pw@");
}

TEST(redlock_waiting, long_holds_of_a_client_with_waiters_starve_nobody) {
  five_nodes nodes;
  EXPECT_TRUE(gets_its_share(nodes, nodes.url(plain, 1), 300ms));
}

TEST(redlock_waiting, a_client_that_does_not_reach_one_node_has_its_share) {
  for (std::size_t i = 0; i < 5; ++i) {
    five_nodes nodes;
    EXPECT_TRUE(gets_its_share(nodes, url_of_user(nodes, {}, i), 3ms)) << i;
  }
}

/// A program that waits for nobody's message: tries, and takes back what it got of too few.
bool takes_it(std::vector<connection>& nodes) {
  std::size_t got = 0;
  for (connection& n : nodes) {
    if (n.command({"SET", "wanted", "stranger", "NX", "PX", "5000"}).text == "OK") ++got;
  }
  const bool all = got > nodes.size() / 2;
  for (connection& n : nodes) {
    if (n.command({"GET", "wanted"}).text == "stranger") n.command({"DEL", "wanted"});
  }
  return all;
}

TEST(redlock_waiting, a_program_that_no_node_knows_of_gets_it_now_and_then) {
  five_nodes nodes;
  std::vector<connection> stranger;
  for (std::size_t i = 0; i < nodes.size(); ++i) stranger.push_back(nodes[i].connect());
  std::atomic<bool> over{};
  std::atomic<std::size_t> theirs{};
  std::vector<std::thread> all;
  for (int k = 0; k < 3; ++k) {
    all.emplace_back([&, s = nodes.open(plain)]() mutable {
      while (!over) {
        auto l = s.acquire(lock_name("wanted"), {.wait = 30s});
        ASSERT_TRUE(l) << l.error().message();
        ++theirs;
        std::this_thread::sleep_for(1ms);
        EXPECT_TRUE(std::move(*l).release());
      }
    });
  }
  EXPECT_TRUE(process::eventually([&] { return theirs >= 100; }));
  bool got = false;
  for (const std::size_t from = theirs; !got && theirs < from + 10'000;) got = takes_it(stranger);
  EXPECT_TRUE(got);
  over = true;
  for (auto& t : all) t.join();
}

TEST(redlock_waiting, where_nobody_may_count_all_have_their_share) {
  five_nodes nodes;
  nodes.everywhere({"ACL", "SETUSER", "default", "-pubsub"});
  EXPECT_TRUE(gets_its_share(nodes, nodes.url(plain, 1), 3ms));
}

TEST(redlock_waiting, a_subscription_that_is_confirmed_late_is_given_up) {
  five_nodes nodes;
  const std::string quick = plain + "&node_timeout=40ms";
  session holder = nodes.open(quick);
  session waiter = nodes.open(quick, 1);
  const auto try_it = [&](duration wait) {
    EXPECT_FALSE(waiter.acquire(lock_name("wanted"), {.wait = wait}));
  };
  auto held = holder.acquire(lock_name("wanted"));
  ASSERT_TRUE(held);
  std::size_t post = nodes.size();
  std::thread first([&] { try_it(500ms); });
  EXPECT_TRUE(process::eventually([&] {
    const auto all = heard(nodes);
    post = static_cast<std::size_t>(std::ranges::find_if(all, [](auto c) { return c > 0; }) -
                                    all.begin());
    return post < nodes.size();
  }));
  first.join();
  nodes.stop(post);
  try_it(4s);
  nodes.resume(post);
  EXPECT_TRUE(process::eventually([&] { return heard(nodes) == std::vector<std::size_t>(5); }));
  EXPECT_TRUE(std::move(*held).release());
}

TEST(redlock_waiting, waiters_of_one_client_ask_once_for_each_grant_and_call_nobody) {
  five_nodes nodes;
  turns t(nodes, {16});
  t.take(100);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(calls_of(nodes[i], "publish"), 0U);
    // Each of them takes it once more than was counted, and the first may meet before there is a
    // line.
    EXPECT_LE(calls_of(nodes[i], "set"), 100U + 16U + 8U);
  }
}

TEST(redlock_waiting, who_waits_is_heard_of_at_two_nodes_at_most_and_leaves_them) {
  five_nodes nodes;
  session holder = nodes.open(plain);
  session waiter = nodes.open(plain, 1);
  auto held = holder.acquire(lock_name("wanted"));
  ASSERT_TRUE(held);
  std::thread other([&] {
    const auto l = waiter.acquire(lock_name("wanted"), {.wait = 30s});
    EXPECT_TRUE(l) << l.error().message();
  });
  const auto sum = [&] {
    const auto all = heard(nodes);
    for (const std::size_t n : all) EXPECT_LE(n, 2U) << "for everybody, and a seat";
    return std::accumulate(all.begin(), all.end(), std::size_t{});
  };
  EXPECT_TRUE(process::eventually([&] { return sum() >= 2; }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(sum(), 4U);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_TRUE(std::move(*held).release());
  other.join();
  EXPECT_TRUE(process::eventually([&] { return sum() == 0; }));
}

TEST(redlock_waiting, clients_find_the_same_node_though_they_list_them_otherwise) {
  five_nodes nodes;
  session holder = nodes.open(plain);
  auto held = holder.acquire(lock_name("wanted"));
  ASSERT_TRUE(held);
  std::vector<session> waiters;
  std::vector<std::thread> all;
  for (std::size_t i = 1; i < 5; ++i) waiters.push_back(nodes.open(plain, i));
  for (session& s : waiters) {
    all.emplace_back([&s] { EXPECT_TRUE(s.acquire(lock_name("wanted"), {.wait = 30s})); });
  }
  const std::vector<std::string> count{"PUBSUB", "NUMSUB", engine::free_channel("wanted")};
  EXPECT_TRUE(process::eventually([&] {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].command(count).elements.at(1).integer == 4) return true;
    }
    return false;
  }));
  EXPECT_TRUE(std::move(*held).release());
  for (auto& t : all) t.join();
}

TEST(redlock_waiting, calls_that_reach_nobody_who_answers_stop_nobody) {
  five_nodes nodes;
  std::vector<connection> hung;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    hung.push_back(nodes[i].connect());
    hung.back().command({"SUBSCRIBE", engine::free_channel("contended")});
    for (unsigned seat = 0; seat < engine::seats; ++seat) {
      hung.back().command({"SUBSCRIBE", engine::seat_channel("contended", seat)});
    }
  }
  contest c(nodes, {.query = plain, .clients = 3, .tokens = false});
  EXPECT_TRUE(c.more(30)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), testing::IsEmpty());
}

}  // namespace

}  // namespace holdfast::redlock_tests
