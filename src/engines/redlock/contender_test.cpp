#include "engines/redlock/contender.hpp"

#include "core/store_url.hpp"
#include "engines/redlock/settings.hpp"
#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {
namespace {

/// Takes nothing: it has heard of the end of its session before.
class deaf final : public contender::listener {
 public:
  void answered(const contender::ticket&, core::reply) override {}
  bool held(const contender::ticket&, round_outcome&) override { return false; }
  void late(const contender::ticket&, node_index) override {}
  void unrecorded(node_set) override {}
  void hindered(const contender::ticket& of, std::uint64_t nth, core::reply by) override {
    const std::lock_guard hold(mutex_);
    hindered_[of.request].emplace(nth, std::move(by));
    news_.notify_all();
  }
  void changed(const contender::ticket&, core::reply) override {}
  /// What that request heard of what stands in its way.
  std::vector<core::reply> hindrances(std::uint64_t request) {
    const std::lock_guard hold(mutex_);
    std::vector<core::reply> all;
    for (const auto& [nth, by] : hindered_[request]) all.push_back(by);
    return all;
  }
  /// The first of it, when it comes.
  core::reply first_hindrance(std::uint64_t request) {
    std::unique_lock hold(mutex_);
    const auto heard = [&] { return !hindered_[request].empty(); };
    if (!news_.wait_for(hold, std::chrono::seconds{20}, heard)) return {.what = core::status::ok};
    return hindered_[request].begin()->second;
  }

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<std::uint64_t, std::map<std::uint64_t, core::reply>> hindered_;
};

/// On nodes that nobody answers for.
class redlock_contender : public ::testing::Test {
 protected:
  /// A waiter that stands in a queue and the queue keep each other.
  redlock_contender() { nodes_->start(); }
  ~redlock_contender() override {
    while (!made_.empty()) {
      made_.back()->cancel();
      made_.pop_back();
    }
  }
  std::shared_ptr<contender> waiting() {
    round::order o;
    o.name = "a";
    o.ttl = std::chrono::seconds{5};
    o.timeout = std::chrono::milliseconds{50};
    made_.push_back(std::make_shared<contender>(nodes_, waiters_, std::move(o),
                                                contender::wish::wait, listener_,
                                                contender::ticket{made_.size(), 1}));
    return made_.back();
  }

  /// What its rounds found, as it stands first.
  void ended(const contender& who) {
    waiters_->round_ended("a", who, {.what = core::status::queued}, false, clock::now());
  }
  void ended_blind(const contender& who, bool cut_off, time_point now) {
    waiters_->round_ended("a", who, {.what = core::status::unavailable, .text = "why"}, cut_off,
                          now);
  }

  std::shared_ptr<io::loop> loop_{*io::loop::start()};
  std::shared_ptr<cluster> nodes_{std::make_shared<cluster>(
      *read_settings(*core::store_url::parse("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")),
      loop_)};
  std::shared_ptr<waiters> waiters_{std::make_shared<waiters>(nodes_)};
  std::shared_ptr<deaf> listener_{std::make_shared<deaf>()};
  std::vector<std::shared_ptr<contender>> made_;
};

TEST_F(redlock_contender, one_that_was_cancelled_before_it_lined_up_stands_in_nobodys_way) {
  const auto gone = waiting();
  gone->cancel();
  gone->start();
  const auto next = waiting();
  EXPECT_EQ(waiters_->join("a", next), waiters::place::first);
}

TEST_F(redlock_contender, one_that_is_cancelled_in_the_line_lets_the_next_one_come_first) {
  const auto before = waiting();
  ASSERT_EQ(waiters_->join("a", before), waiters::place::first);
  const auto gone = waiting();
  gone->start();
  gone->cancel();
  waiters_->leave("a", *before, false);
  EXPECT_EQ(waiters_->join("a", waiting()), waiters::place::first);
}

TEST_F(redlock_contender, all_who_wait_are_told_that_too_few_nodes_can_be_asked) {
  const auto before = waiting();
  ASSERT_EQ(waiters_->join("a", before), waiters::place::first);
  waiting()->start();
  waiting()->start();
  EXPECT_TRUE(listener_->hindrances(1).empty()) << "nobody asked yet";
  waiters_->leave("a", *before, false);
  const auto asked = listener_->first_hindrance(1);
  EXPECT_EQ(asked.what, core::status::unavailable);
  EXPECT_NE(asked.text.find("needed are 2"), std::string::npos) << asked.text;
  EXPECT_EQ(listener_->first_hindrance(2).what, core::status::unavailable) << "who is behind it";
  waiting()->start();
  EXPECT_EQ(listener_->first_hindrance(3).what, core::status::unavailable) << "who comes later";
}

TEST_F(redlock_contender, who_is_behind_hears_that_enough_nodes_can_be_asked_again) {
  const auto before = waiting();
  ASSERT_EQ(waiters_->join("a", before), waiters::place::first);
  waiting()->start();
  for (int i = 0; i < 2; ++i) ended_blind(*before, true, clock::now());
  ended(*before);
  const auto all = listener_->hindrances(1);
  ASSERT_EQ(all.size(), 2U) << "once each";
  EXPECT_EQ(all[0].text, "why");
  EXPECT_EQ(all[1].what, core::status::queued);
  waiting()->start();
  EXPECT_TRUE(listener_->hindrances(2).empty());
}

TEST_F(redlock_contender, nobody_is_told_of_rounds_that_fail_on_nodes_that_are_there) {
  const auto before = waiting();
  ASSERT_EQ(waiters_->join("a", before), waiters::place::first);
  waiting()->start();
  ended(*before);
  const auto began = clock::now();
  for (int i = 0; i < 100; ++i) ended_blind(*before, false, began);
  EXPECT_TRUE(listener_->hindrances(1).empty()) << "one moment may take many rounds";
  waiting()->start();
  EXPECT_TRUE(listener_->hindrances(2).empty());
  ended_blind(*before, false, began + core::redlock::visibility::time);
  EXPECT_EQ(listener_->hindrances(1).size(), 1U);
  EXPECT_EQ(listener_->hindrances(2).size(), 1U);
  ended(*before);
  EXPECT_EQ(listener_->hindrances(1).back().what, core::status::queued);
}

TEST_F(redlock_contender, who_comes_while_that_turns_is_told_what_is_so_in_the_end) {
  const auto before = waiting();
  ASSERT_EQ(waiters_->join("a", before), waiters::place::first);
  constexpr std::uint64_t many = 1000;
  std::atomic<std::uint64_t> comes{};
  std::atomic<std::uint64_t> turned{};
  const std::jthread turns([&] {
    for (std::uint64_t i = 1; i <= many; ++i) {
      while (comes < i) std::this_thread::yield();
      ended(*before);
      turned = i;
    }
  });
  for (std::uint64_t i = 1; i <= many; ++i) {
    ended_blind(*before, true, clock::now());
    const auto who = waiting();
    comes = i;
    who->start();
    while (turned < i) std::this_thread::yield();
    const auto all = listener_->hindrances(i);
    EXPECT_TRUE(all.empty() || all.back().what == core::status::queued) << "and for ever, of " << i;
    who->cancel();
  }
}

TEST_F(redlock_contender, who_was_behind_hears_of_a_grant_that_enough_nodes_are_there) {
  const auto before = waiting();
  ASSERT_EQ(waiters_->join("a", before), waiters::place::first);
  waiting()->start();
  waiting()->start();
  ended_blind(*before, true, clock::now());
  waiters_->leave("a", *before, true);
  for (const std::uint64_t i : {1U, 2U}) {
    const auto all = listener_->hindrances(i);
    ASSERT_GE(all.size(), 2U);
    EXPECT_EQ(all[1].what, core::status::queued);
  }
}

}  // namespace
}  // namespace holdfast::engines::redlock
