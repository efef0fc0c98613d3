#include "core/store_url.hpp"
#include "engines/redlock/contender.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/open.hpp"
#include "engines/redlock/waiters.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/contest.hpp"
#include "tests/succeeded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
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
using testing::ElementsAre;
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
      EXPECT_TRUE(succeeded(std::move(*l).release()));
    }
  }

  std::vector<session> sessions_;
  std::vector<std::size_t> owners_;
  std::atomic<std::size_t> ready_{};
  std::atomic<std::size_t> taken_{};
  std::vector<std::size_t> shares_;  // Written by who has the lock.
};

/// The channels of "wanted" that somebody hears, on each node.
std::vector<std::size_t> heard(five_nodes& nodes) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    all.push_back(
        nodes[i].command({"PUBSUB", "CHANNELS", "holdfast:free:*:wanted"}).elements.size());
  }
  return all;
}

/// The first node on which somebody hears of "wanted"; as many as there are nodes: none.
std::size_t listening_node(five_nodes& nodes) {
  const auto all = heard(nodes);
  return static_cast<std::size_t>(std::ranges::find_if(all, [](auto n) { return n > 0; }) -
                                  all.begin());
}

TEST(redlock_waiting, clients_take_turns) {
  // A client that the machine lets stand still misses its turns, but not every time.
  bool fair = false;
  for (int tries = 0; tries < 3 && !fair; ++tries) {
    five_nodes nodes;
    turns t(nodes, {1, 1, 1, 1});
    fair = testing::Value(t.take(100), Each(Ge(12U)));
  }
  EXPECT_TRUE(fair);
}

TEST(redlock_waiting, a_client_with_many_waiters_lets_others_by) {
  // As above.
  bool fair = false;
  for (int tries = 0; tries < 3 && !fair; ++tries) {
    five_nodes nodes;
    turns t(nodes, {6, 1});
    fair = testing::Value(t.take(100), ElementsAre(Ge(30U), Ge(8U)));
  }
  EXPECT_TRUE(fair);
}

/// One client of which three threads want the lock all the time, each to hold it for so long.
class busy_client {
 public:
  busy_client(const five_nodes& nodes, std::chrono::milliseconds hold, std::size_t at_first) {
    for (int k = 0; k < 3; ++k) {
      threads_.emplace_back([this, hold, s = nodes.open(plain)]() mutable { contend(s, hold); });
    }
    EXPECT_TRUE(process::eventually([&] { return grants() >= at_first; }));
  }
  busy_client(const busy_client&) = delete;
  busy_client& operator=(const busy_client&) = delete;
  ~busy_client() {
    over_ = true;
    for (auto& t : threads_) t.join();
  }
  std::size_t grants() const { return grants_; }

 private:
  void contend(session& by, std::chrono::milliseconds hold) {
    while (!over_) {
      auto l = by.acquire(lock_name("wanted"), {.wait = 30s});
      ASSERT_TRUE(l) << l.error().message();
      ++grants_;
      std::this_thread::sleep_for(hold);
      EXPECT_TRUE(succeeded(std::move(*l).release()));
    }
  }

  std::atomic<bool> over_{};
  std::atomic<std::size_t> grants_{};
  std::vector<std::thread> threads_;
};

/// Whether a client with this URL has the lock three times before a busy one had it 1,000 times;
/// who is starved never has it.
bool gets_its_share(const five_nodes& nodes, const std::string& url,
                    std::chrono::milliseconds hold) {
  const busy_client busy(nodes, hold, 2);
  auto other = holdfast::open(url);
  EXPECT_TRUE(other) << other.error().message();
  std::size_t mine = 0;
  for (const auto from = busy.grants(); other && mine < 3 && busy.grants() < from + 1'000;) {
    auto l = other->acquire(lock_name("wanted"), {.wait = 1s});
    if (l) ++mine;
  }
  return mine == 3;
}

/// The URL of a user that every node knows but for `without`.
std::string url_of_user(five_nodes& nodes, std::vector<std::string> rules,
                        std::optional<std::size_t> without = {}) {
  rules.insert(rules.begin(), {"ACL", "SETUSER", "b", "on", ">pw", "~*", "&*", "+@all"});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i != without) nodes[i].command(rules);
  }
  return as_user("b:pw", nodes.url(plain, 1));
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
  const busy_client busy(nodes, 1ms, 100);
  bool got = false;
  for (const auto from = busy.grants(); !got && busy.grants() < from + 10'000;) {
    got = takes_it(stranger);
  }
  EXPECT_TRUE(got);
}

TEST(redlock_waiting, where_nobody_may_count_all_have_their_share) {
  five_nodes nodes;
  nodes.everywhere({"ACL", "SETUSER", "default", "-pubsub"});
  EXPECT_TRUE(gets_its_share(nodes, nodes.url(plain, 1), 3ms));
}

TEST(redlock_waiting, a_subscription_that_is_confirmed_late_is_given_up) {
  five_nodes nodes;
  const std::string quick = plain + "&node_timeout=1s";
  session holder = nodes.open(quick);
  session waiter = nodes.open(quick, 1);
  const auto try_it = [&](duration wait) {
    EXPECT_FALSE(waiter.acquire(lock_name("wanted"), {.wait = wait}).has_value());
  };
  auto held = holder.acquire(lock_name("wanted"));
  ASSERT_TRUE(held);
  std::size_t where = nodes.size();
  std::thread first([&] { try_it(3s); });
  EXPECT_TRUE(process::eventually([&] {
    const auto all = heard(nodes);
    where = static_cast<std::size_t>(std::ranges::find_if(all, [](auto c) { return c > 0; }) -
                                     all.begin());
    return where < nodes.size();
  }));
  first.join();
  nodes.stop(where);
  try_it(6s);
  nodes.resume(where);
  EXPECT_TRUE(process::eventually([&] { return heard(nodes) == std::vector<std::size_t>(5); }));
  EXPECT_TRUE(succeeded(std::move(*held).release()));
}

TEST(redlock_waiting, waiters_of_one_client_ask_once_for_each_grant_and_call_nobody) {
  five_nodes nodes;
  turns t(nodes, {16});
  t.take(100);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i].calls("publish"), 0);
    // Each of them takes it once more than was counted, and the first may meet before there is a
    // line.
    EXPECT_LE(nodes[i].calls("set"), 100 + 16 + 8);
    EXPECT_LE(nodes[i].calls("pubsub|numsub"), nodes[i].calls("evalsha") / 2)
        << "a lock that stays here is counted now and then";
  }
}

TEST(redlock_waiting, who_waits_is_heard_of_at_one_node_and_leaves_it) {
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
    EXPECT_EQ(sum(), 2U);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_TRUE(succeeded(std::move(*held).release()));
  other.join();
  EXPECT_TRUE(process::eventually([&] { return sum() == 0; }));
}

TEST(redlock_waiting,
     a_node_that_votes_alone_is_not_flooded_with_releases_of_what_was_never_asked) {
  five_nodes nodes(3);
  nodes.init();
  session holder = nodes.open();
  session waiter = nodes.open();
  auto held = holder.acquire(lock_name("wanted"));
  ASSERT_TRUE(held);
  std::thread other([&] { (void)waiter.acquire(lock_name("wanted"), {.wait = 4s}); });
  std::size_t where = nodes.size();
  EXPECT_TRUE(process::eventually([&] {
    where = listening_node(nodes);
    return where < nodes.size();
  }));
  for (std::size_t k = 1; k < 3; ++k) nodes[(where + k) % 3].command({"FLUSHALL"});
  const int before = nodes[where].calls("evalsha");
  other.join();
  EXPECT_LT(nodes[where].calls("evalsha") - before, 1'000) << "each of the two clients looks at it";
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
    all.emplace_back(
        [&s] { EXPECT_TRUE(succeeded(s.acquire(lock_name("wanted"), {.wait = 30s}))); });
  }
  const std::vector<std::string> count{"PUBSUB", "NUMSUB", engine::free_channel("wanted")};
  EXPECT_TRUE(process::eventually([&] {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].command(count).elements.at(1).integer == 4) return true;
    }
    return false;
  }));
  EXPECT_TRUE(succeeded(std::move(*held).release()));
  for (auto& t : all) t.join();
}

TEST(redlock_waiting, who_waits_for_that_name_in_another_database_hears_nothing_of_it) {
  five_nodes nodes(3);
  const auto open_in_one = [&nodes](std::size_t first) {
    std::string url = nodes.url(plain, first);
    return holdfast::open(url.insert(url.find('?'), "/1")).value();
  };
  const auto hear = [&nodes](const std::string& channel) {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      all += nodes[i].command({"PUBSUB", "NUMSUB", channel}).elements.at(1).integer;
    }
    return all;
  };
  session holder = open_in_one(0);
  session waits = open_in_one(1);
  auto held = holder.acquire(lock_name("wanted"));
  ASSERT_TRUE(held);
  std::thread waiter(
      [&waits] { EXPECT_TRUE(succeeded(waits.acquire(lock_name("wanted"), {.wait = 30s}))); });
  EXPECT_TRUE(process::eventually([&] { return hear(engine::free_channel("wanted", 1)) == 1; }));
  EXPECT_EQ(hear(engine::free_channel("wanted")), 0) << "the lock of database 0 has that";
  EXPECT_TRUE(succeeded(std::move(*held).release()));
  waiter.join();
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

/// Who stands in a queue and notes what it is told.
class notes_turns final : public engine::waiter {
 public:
  void turn(wakeup what) override {
    if (what == wakeup::next) ++called;
  }
  void look_up() override {}
  std::atomic<int> called{};
};

// Few still sit at the node that was the listening one before, and it calls one of them for the
// same release.
TEST(redlock_waiting, only_the_node_that_all_listen_to_calls) {
  five_nodes nodes;
  const session s = nodes.open(plain);
  const auto opened = engine::open_redlock(*core::store_url::parse(nodes.url(plain))).value();
  const auto c = dynamic_cast<engine::redlock_engine&>(*opened.engine).nodes();
  ASSERT_TRUE(process::eventually([&] { return c->now_voting()->voters.size() == 5; }));
  const auto all = std::make_shared<engine::waiters>(c);
  const auto who = std::make_shared<notes_turns>();
  ASSERT_EQ(all->join("wanted", who), engine::waiters::place::first);
  all->listen_for("wanted");
  std::size_t where = nodes.size();
  ASSERT_TRUE(process::eventually([&] {
    where = listening_node(nodes);
    return where < nodes.size();
  }));
  const engine::news call{.channel = {}, .name = "wanted", .calls = true};
  for (engine::node_index i = 0; i < nodes.size(); ++i) {
    if (i != where) all->heard(i, call);
  }
  EXPECT_EQ(who->called, 0);
  all->heard(static_cast<engine::node_index>(where), call);
  EXPECT_EQ(who->called, 1);
  all->leave("wanted", *who, false);
}

/// Who only waits.
class waits_only final : public engine::contender::listener {
 public:
  void answered(const engine::contender::ticket&, core::reply) override {}
  bool held(const engine::contender::ticket&, engine::round_outcome&) override { return false; }
  void late(const engine::contender::ticket&, engine::node_index) override {}
  void unrecorded(engine::node_set) override {}
  void hindered(const engine::contender::ticket&, std::uint64_t, core::reply) override {}
  void changed(const engine::contender::ticket&, core::reply) override {}
};

/// Fault matrix: a waiter is called while most nodes hang in its round, and gives up in it |
/// another one is called
TEST(redlock_waiting, who_is_called_in_its_round_and_gives_up_calls_another) {
  five_nodes nodes;
  session s = nodes.open(plain);
  const auto opened = engine::open_redlock(*core::store_url::parse(nodes.url(plain))).value();
  const auto c = dynamic_cast<engine::redlock_engine&>(*opened.engine).nodes();
  ASSERT_TRUE(process::eventually([&] { return c->now_voting()->voters.size() == 5; }));
  nodes.everywhere({"SET", "wanted", "stranger", "PX", "60000"});
  const auto all = std::make_shared<engine::waiters>(c);
  const auto told = std::make_shared<waits_only>();
  const auto one = [&] {
    return std::make_shared<engine::contender>(
        c, all, engine::round::order{.name = "wanted", .ttl = 60s, .timeout = 20s},
        engine::contender::wish::wait, told, engine::contender::ticket{1, 1});
  };
  const auto first = one();
  first->start();
  std::size_t where = nodes.size();
  ASSERT_TRUE(process::eventually([&] {
    where = listening_node(nodes);
    return where < nodes.size();
  }));
  first->cancel();
  connection other = nodes[where].connect();
  other.command({"SUBSCRIBE", engine::free_channel("wanted")});
  other.command({"SUBSCRIBE", engine::seat_channel("wanted", 0)});
  for (std::size_t k = 1; k < 4; ++k) nodes.stop((where + k) % 5);
  const auto waiter = one();
  waiter->start();
  ASSERT_TRUE(process::eventually([&] { return nodes[where].calls("set") >= 3; }));
  // That it is there is answered before what is asked next.
  std::this_thread::sleep_for(300ms);
  nodes[where].command({"DEL", "wanted"});
  const int before = nodes[where].calls("publish");
  waiter->turn(engine::waiter::wakeup::next);
  waiter->cancel();
  EXPECT_TRUE(process::eventually([&] { return nodes[where].calls("publish") > before; }, 10s));
  for (std::size_t k = 1; k < 4; ++k) nodes.resume((where + k) % 5);
}

}  // namespace

}  // namespace holdfast::redlock_tests
