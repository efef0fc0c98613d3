#include "core/store_url.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/contender.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/open.hpp"
#include "engines/redlock/waiters.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::redlock_tests {

namespace {

namespace engine = engines::redlock;
using engine::contender;
using redis_tests::connection;
using wakeup = engine::waiter::wakeup;

/// Who waits, and has something happen while what follows from a round is done.
class interrupts final : public contender::listener {
 public:
  void answered(const contender::ticket&, core::reply) override {}
  bool held(const contender::ticket&, engine::round_outcome&) override { return false; }
  void late(const contender::ticket&, engine::node_index) override {}
  void unrecorded(engine::node_set) override {
    if (const auto act = std::exchange(when_unrecorded, {})) act();
  }
  void hindered(const contender::ticket&, std::uint64_t, core::reply by) override {
    if (by.what != core::status::unavailable) return;
    if (const auto act = std::exchange(when_blind, {})) act();
  }
  void changed(const contender::ticket&, core::reply) override {}

  std::function<void()> when_unrecorded{};
  std::function<void()> when_blind{};
};

/// A process that waits for "wanted" with a session that no node knows, and on each node a seat of
/// another process.
class redlock_passing_on : public ::testing::Test {
 protected:
  redlock_passing_on() {
    nodes_.init();
    const auto opened = engine::open_redlock(*core::store_url::parse(nodes_.url())).value();
    engine_ = opened.engine;
    cluster_ = dynamic_cast<engine::redlock_engine&>(*engine_).nodes();
    all_ = std::make_shared<engine::waiters>(cluster_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      others_.push_back(nodes_[i].connect());
      others_.back().command({"SUBSCRIBE", engine::free_channel("wanted")});
      others_.back().command({"SUBSCRIBE", engine::seat_channel("wanted", 0)});
    }
  }
  void SetUp() override {
    ASSERT_TRUE(process::eventually([&] { return cluster_->now_voting()->voters.size() == 3; }));
  }

  std::shared_ptr<contender> one() {
    return std::make_shared<contender>(
        cluster_, all_, engine::round::order{.name = "wanted", .ttl = 60s, .timeout = 20s},
        contender::wish::wait, told_, contender::ticket{1, 1});
  }
  /// It stands in the queue, and comes first there.
  std::shared_ptr<contender> waiting() {
    const auto before = one();
    EXPECT_EQ(all_->join("wanted", before), engine::waiters::place::first);
    const auto who = one();
    who->start();
    all_->leave("wanted", *before, false);
    return who;
  }
  testing::AssertionResult others_are_called() {
    const auto calls = [&] {
      int sum = 0;
      for (std::size_t i = 0; i < nodes_.size(); ++i) sum += nodes_[i].calls("publish");
      return sum;
    };
    if (process::eventually([&] { return calls() > 0; }, 10s)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "nobody was";
  }

  five_nodes nodes_{3};
  std::shared_ptr<core::engine> engine_;
  std::shared_ptr<engine::cluster> cluster_;
  std::shared_ptr<engine::waiters> all_;
  std::vector<connection> others_;
  std::shared_ptr<interrupts> told_{std::make_shared<interrupts>()};
};

/// Fault matrix: a waiter is called for a round that finds no record of its session, and gives up
/// at that moment | another one is called
TEST_F(redlock_passing_on, who_gives_up_before_its_round_is_made_again) {
  const auto before = one();
  ASSERT_EQ(all_->join("wanted", before), engine::waiters::place::first);
  const auto who = one();
  who->start();
  told_->when_unrecorded = [&] {
    all_->leave("wanted", *before, false);
    who->cancel();
  };
  who->turn(wakeup::next);
  EXPECT_TRUE(others_are_called());
}

/// Fault matrix: a waiter is called when its round has ended, and gives up before it rests |
/// another one is called
TEST_F(redlock_passing_on, who_gives_up_between_a_round_and_its_rest) {
  std::promise<std::shared_ptr<contender>> started;
  told_->when_blind = [&] {
    const auto who = started.get_future().get();
    who->turn(wakeup::next);
    who->cancel();
  };
  started.set_value(waiting());
  EXPECT_TRUE(others_are_called());
}

/// Fault matrix: a waiter gives up in the moment in which it is called | another one is called
TEST_F(redlock_passing_on, who_gave_up_before_it_heard_the_call) {
  const auto who = waiting();
  who->cancel();
  who->turn(wakeup::next);
  EXPECT_TRUE(others_are_called());
}

/// Fault matrix: a waiter is called, and its session is denied | another one is called
TEST_F(redlock_passing_on, whose_session_is_over) {
  const auto before = one();
  ASSERT_EQ(all_->join("wanted", before), engine::waiters::place::first);
  const auto who = one();
  who->start();
  nodes_.everywhere({"HSET", "holdfast:session:" + session_id{}.str(), "denied", "1"});
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_.stop(i);
  who->turn(wakeup::next);
  all_->leave("wanted", *before, false);
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_.resume(i);
  EXPECT_TRUE(others_are_called());
}

/// Fault matrix: a subscription is left behind on any node by who waits no more | the first message
/// ends it, whether that node calls or another one does
TEST_F(redlock_passing_on, a_subscription_that_was_left_behind_ends_with_the_first_message) {
  const auto listens = [&](std::size_t i, const std::string& channel) {
    return nodes_[i].command({"PUBSUB", "NUMSUB", channel}).elements.at(1).integer;
  };
  for (engine::node_index i = 0; i < nodes_.size(); ++i) {
    for (const auto& channel : {engine::free_channel("left"), engine::seat_channel("left", 7)}) {
      std::string bytes;
      engine::commands::subscribe(bytes, channel);
      cluster_->ask(
          i, bytes, clock::now() + 60s, [](const io::redis_answer&) {},
          engine::cluster::kind::subscription);
      ASSERT_TRUE(process::eventually([&] { return listens(i, channel) == 1; }));
      nodes_[i].command({"PUBLISH", channel, "released"});
      EXPECT_TRUE(process::eventually([&] { return listens(i, channel) == 0; }, 10s))
          << "node " << i << ", " << channel;
    }
  }
}

/// Who stands in a queue and does nothing there.
class bystander final : public engine::waiter {
 public:
  void turn(wakeup) override {}
  void look_up() override {}
};

/// Until all nodes have done what was sent to them before.
void await_answers(engine::cluster& c) {
  std::string bytes;
  engine::commands::peek(bytes, "of-nobody", true);
  for (engine::node_index i = 0; i < c.size(); ++i) {
    std::promise<void> answered;
    c.ask(i, bytes, clock::now() + 60s,
          [&answered](const io::redis_answer&) { answered.set_value(); });
    answered.get_future().wait();
  }
}

/// Fault matrix: who waits stops listening for a release in the moment in which the next one of the
/// process begins | that one hears of it
TEST_F(redlock_passing_on, who_begins_to_listen_while_another_stops_hears_of_a_release) {
  const auto leaves = std::make_shared<bystander>();
  const auto comes = std::make_shared<bystander>();
  for (int i = 0; i < process::rounds(300, 5'000); ++i) {
    const std::string name = "passed-on-" + std::to_string(i);
    ASSERT_EQ(all_->join(name, leaves), engine::waiters::place::first);
    all_->listen_for(name);
    std::barrier at_once(2);
    std::thread other([&] {
      at_once.arrive_and_wait();
      all_->leave(name, *leaves, false);
    });
    at_once.arrive_and_wait();
    all_->join(name, comes);
    all_->listen_for(name);
    other.join();
    await_answers(*cluster_);
    std::int64_t listening = 0;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const auto said = nodes_[n].command({"PUBSUB", "NUMSUB", engine::free_channel(name)});
      listening += said.elements.at(1).integer;
    }
    ASSERT_EQ(listening, 1) << "in round " << i;
    all_->leave(name, *comes, false);
  }
}

/// Who stands in a queue and remembers what it was told.
class rememberer final : public engine::waiter {
 public:
  void turn(wakeup what) override { told.push_back(what); }
  void look_up() override {}
  std::vector<wakeup> told{};
};

TEST_F(redlock_passing_on, who_comes_between_a_release_and_its_news_looks_again) {
  const auto first = std::make_shared<bystander>();
  ASSERT_EQ(all_->join("alone", first), engine::waiters::place::first);
  all_->listen_for("alone");
  ASSERT_TRUE(process::eventually([&] { return all_->hears("alone"); }));
  all_->leave("alone", *first, true);
  for (engine::node_index i = 0; i < nodes_.size(); ++i) all_->nobody_waits("alone", i);
  const auto how = all_->part("alone");
  EXPECT_EQ(how.others, engine::waiters::rivals::none);
  // What it asks may be ahead of the release, which it has to hear of then.
  const auto comes = std::make_shared<rememberer>();
  all_->join("alone", comes);
  all_->parted("alone", how);
  EXPECT_EQ(comes->told, std::vector{wakeup::heard});
}

/// Whose locks are given back as soon as they are granted.
class refuses final : public contender::listener {
 public:
  void answered(const contender::ticket&, core::reply) override {}
  bool held(const contender::ticket&, engine::round_outcome&) override {
    granted.set_value();
    return false;
  }
  void late(const contender::ticket&, engine::node_index) override {}
  void unrecorded(engine::node_set) override {}
  void hindered(const contender::ticket&, std::uint64_t, core::reply) override {}
  void changed(const contender::ticket&, core::reply) override {}

  std::promise<void> granted{};
};

/// Fault matrix: who is asking for a free lock is cancelled | what it got is given back ahead of
/// what the next one of its process asks, who gets it at once
TEST_F(redlock_passing_on, who_is_cancelled_while_it_asks_gives_back_before_the_next_one_asks) {
  nodes_.everywhere({"HSET", "holdfast:session:" + session_id{}.str(), "denied", "0"});
  const auto next_is_told = std::make_shared<refuses>();
  const auto gone = one();
  const auto next = std::make_shared<contender>(
      cluster_, all_, engine::round::order{.name = "wanted", .ttl = 60s, .timeout = 20s},
      contender::wish::wait, next_is_told, contender::ticket{2, 2});
  int subscribed_before = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) subscribed_before += nodes_[i].calls("subscribe");
  std::promise<void> asked;
  std::promise<void> may_go_on;
  cluster_->loop().post([&] {
    gone->start();
    asked.set_value();
    may_go_on.get_future().wait();
  });
  asked.get_future().wait();
  next->start();
  gone->cancel();
  may_go_on.set_value();
  ASSERT_EQ(next_is_told->granted.get_future().wait_for(60s), std::future_status::ready);
  int subscribed = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) subscribed += nodes_[i].calls("subscribe");
  EXPECT_EQ(subscribed, subscribed_before)
      << "it found the lock taken, and listens for its release";
}

}  // namespace

}  // namespace holdfast::redlock_tests
