#include "engines/redlock/stages.hpp"

#include "io/thread/latch.hpp"
#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {
namespace {

/// Writes down what is run, and then does what it was made for.
class noting final : public staged {
 public:
  noting(std::vector<std::string>& to, std::string name, std::function<void()> then)
      : to_(to), name_(std::move(name)), then_(std::move(then)) {}
  void run() override {
    to_.push_back(name_);
    if (then_) then_();
  }

 private:
  std::vector<std::string>& to_;
  const std::string name_;
  const std::function<void()> then_;
};

class redlock_stages : public ::testing::Test {
 protected:
  /// On the loop's thread, between begin() and end().
  template <class Body>
  void among_answers(Body body) {
    io::latch over;
    loop_->post([&] {
      all_.begin();
      body();
      all_.end();
      over.open();
    });
    over.wait();
  }
  void add(stage s, std::string name, std::function<void()> then = {}) {
    name += std::to_string(static_cast<int>(s));
    all_.add(s, std::make_shared<noting>(ran_, std::move(name), std::move(then)));
  }

  /// From what the stages run.
  void send(std::string name, std::function<void()> then = {}) {
    ASSERT_TRUE(all_.sends_later());
    add(stage::send, std::move(name), std::move(then));
  }
  void wait_until_sent() {
    while (all_.holds_back()) std::this_thread::yield();
  }

  std::shared_ptr<io::loop> loop_{*io::loop::start()};
  stages all_{*loop_};
  std::vector<std::string> ran_;
};

TEST_F(redlock_stages, run_one_stage_of_all_before_the_next_one) {
  among_answers([&] {
    add(stage::round_ended, "a");
    add(stage::lock_is_free, "b");
    add(stage::round_ended, "c");
    add(stage::lock_is_free, "d");
    EXPECT_TRUE(ran_.empty());
  });
  EXPECT_EQ(ran_, (std::vector<std::string>{"b0", "d0", "a1", "c1"}));
}

TEST_F(redlock_stages, send_last_in_the_order_in_which_it_was_asked_for) {
  const auto sends = [this](std::string name) { return [this, name] { send(name); }; };
  among_answers([&] {
    add(stage::round_ended, "a", sends("a"));
    add(stage::lock_is_free, "b", sends("b"));
    add(stage::round_ended, "c", sends("c"));
    EXPECT_FALSE(all_.sends_later());
  });
  EXPECT_EQ(ran_, (std::vector<std::string>{"b0", "a1", "c1", "b2", "a2", "c2"}));
}

TEST_F(redlock_stages, send_behind_what_waits_also_while_it_is_sent) {
  // Who cannot send is called at once, and asks for more in the callback.
  among_answers([&] {
    add(stage::lock_is_free, "a", [this] {
      send("a", [this] {
        EXPECT_TRUE(all_.sends_later());
        send("c");
      });
      send("b");
    });
  });
  wait_until_sent();
  EXPECT_EQ(ran_, (std::vector<std::string>{"a0", "a2", "b2", "c2"}));
}

TEST_F(redlock_stages, let_others_in_while_somebody_asks_again_and_again) {
  std::function<void()> again = [this, &again] { send("a", again); };
  bool came = false;
  io::latch over;
  loop_->post([&] {
    all_.begin();
    add(stage::lock_is_free, "a", again);
    all_.end();
    loop_->post([&] {
      came = true;
      again = {};
      over.open();
    });
  });
  over.wait();
  wait_until_sent();
  EXPECT_TRUE(came);
}

TEST_F(redlock_stages, hold_others_back_until_all_is_sent) {
  EXPECT_FALSE(all_.holds_back());
  std::vector<bool> seen;
  among_answers([&] {
    add(stage::lock_is_free, "a", [&] {
      seen.push_back(all_.holds_back());
      send("a", [&] { seen.push_back(all_.holds_back()); });
      seen.push_back(all_.holds_back());
    });
  });
  EXPECT_EQ(seen, (std::vector<bool>{false, true, true}));
  EXPECT_FALSE(all_.holds_back());
}

TEST_F(redlock_stages, gather_nothing_while_they_are_run) {
  bool gathers = true;
  among_answers([&] { add(stage::lock_is_free, "a", [&] { gathers = all_.gathers(); }); });
  // So that whoever fails at once, again and again, hears of it as without stages.
  EXPECT_FALSE(gathers);
}

TEST_F(redlock_stages, gather_on_the_loop_and_among_answers_only) {
  EXPECT_FALSE(all_.gathers());
  bool before = true;
  bool within = false;
  bool elsewhere = true;
  io::latch over;
  loop_->post([&] {
    before = all_.gathers();
    over.open();
  });
  over.wait();
  io::latch asked;
  io::latch seen;
  loop_->post([&] {
    all_.begin();
    within = all_.gathers();
    asked.open();
    seen.wait();
    all_.end();
  });
  asked.wait();
  elsewhere = all_.gathers();
  seen.open();
  EXPECT_FALSE(before);
  EXPECT_TRUE(within);
  EXPECT_FALSE(elsewhere);
  among_answers([] {});
}

}  // namespace
}  // namespace holdfast::engines::redlock
