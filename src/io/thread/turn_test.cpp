#include "io/thread/background.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

/// One call of a blocking caller: its answer is a task of the loop.
struct call {
  std::thread::id ran_on{};
  bool of_the_library{};
  latch done{};
};

std::shared_ptr<call> begin(loop& l) {
  auto c = std::make_shared<call>();
  l.post([c] {
    c->ran_on = std::this_thread::get_id();
    c->of_the_library = on_library_thread();
    c->done.open();
  });
  return c;
}

/// Whether the caller's own thread ran the answer.
bool blocks_and_runs(loop& l) {
  const auto c = begin(l);
  EXPECT_TRUE(l.lend(c->done.place()));
  EXPECT_TRUE(c->done.is_open());
  EXPECT_TRUE(c->of_the_library);
  return c->ran_on == std::this_thread::get_id();
}

/// Calls until its own thread runs an answer: on a busy machine a rest may be over in between.
bool comes_to_run(loop& l) {
  for (int i = 0; i < 10'000; ++i) {
    if (blocks_and_runs(l)) return true;
  }
  return false;
}

TEST(turn, a_caller_that_blocks_again_and_again_runs_the_loop_itself) {
  const auto l = *loop::start();
  begin(*l)->done.wait();  // Its own thread has begun.
  EXPECT_FALSE(blocks_and_runs(*l)) << "not one that comes once";
  EXPECT_TRUE(comes_to_run(*l));
  EXPECT_FALSE(on_library_thread());
  EXPECT_FALSE(l->on_thread());
}

TEST(turn, the_own_thread_goes_on_when_the_caller_does_not_come_back) {
  const auto l = *loop::start();
  ASSERT_TRUE(comes_to_run(*l));
  for (int i = 0; i < 3; ++i) {
    const auto c = begin(*l);
    c->done.wait();
    EXPECT_NE(c->ran_on, std::this_thread::get_id());
  }
  std::atomic<bool> ran{};
  latch done;
  l->at(clock::now() + 5ms, [&] {
    ran = true;
    done.open();
  });
  done.wait();
  EXPECT_TRUE(ran);
}

TEST(turn, a_long_turn_runs_everybodys_tasks_and_then_goes_back) {
  const auto l = *loop::start();
  ASSERT_TRUE(comes_to_run(*l));
  latch until;
  std::atomic<int> ran{};
  l->at(clock::now() + 30ms, [&] { ++ran; });
  l->at(clock::now() + 60ms, [&] {
    ++ran;
    until.open();
  });
  EXPECT_TRUE(l->lend(until.place()));
  EXPECT_EQ(ran, 2);
  const auto c = begin(*l);
  c->done.wait();
  EXPECT_NE(c->ran_on, std::this_thread::get_id());
}

TEST(turn, a_second_caller_is_served_while_the_first_one_blocks) {
  const auto l = *loop::start();
  ASSERT_TRUE(comes_to_run(*l));
  const auto first = std::make_shared<latch>();
  std::thread other([l, first] { EXPECT_TRUE(l->lend(first->place())); });
  for (int i = 0; i < 100; ++i) {
    const auto c = begin(*l);
    EXPECT_TRUE(l->lend(c->done.place()));
    EXPECT_TRUE(c->done.is_open());
  }
  first->open();
  other.join();
}

TEST(turn, ends_when_another_thread_opens_the_word) {
  const auto l = *loop::start();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(comes_to_run(*l));
    latch until;
    std::thread other([&] {
      std::this_thread::sleep_for(i % 2 == 0 ? 2ms : 0ms);
      until.open();
    });
    EXPECT_TRUE(l->lend(until.place()));
    EXPECT_TRUE(until.is_open());
    other.join();
  }
}

TEST(turn, is_not_lent_to_a_thread_of_the_library) {
  const auto l = *loop::start();
  latch done;
  bool lent = true;
  l->post([&] {
    latch word;
    lent = l->lend(word.place());
    done.open();
  });
  done.wait();
  EXPECT_FALSE(lent);
}

TEST(turn, many_callers_at_a_time_are_all_served) {
  const auto l = *loop::start();
  std::vector<std::thread> callers;
  std::atomic<int> served{};
  for (int k = 0; k < 4; ++k) {
    callers.emplace_back([&, k] {
      for (int i = 0; i < 2'000; ++i) {
        const auto c = begin(*l);
        EXPECT_TRUE(l->lend(c->done.place()));
        if (c->done.is_open()) ++served;
        if (k == 0 && i % 100 == 0) std::this_thread::sleep_for(2ms);
      }
    });
  }
  for (auto& c : callers) c.join();
  EXPECT_EQ(served, 8'000);
}

// Neither a caller beside the own thread, from whom it takes the turn, nor one beside another.
TEST(turn, is_that_of_one_thread_at_a_time) {
  const auto l = *loop::start();
  std::atomic<int> inside{};
  std::atomic<int> overlaps{};
  const auto work_and_wait = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      for (int k = 0; k < 3; ++k) {
        l->post([&] {
          if (inside.fetch_add(1) > 0) ++overlaps;
          std::this_thread::sleep_for(1ms);
          inside.fetch_sub(1);
        });
      }
      // The own thread is amid one of them.
      const auto patience = clock::now() + 2ms;
      while (inside == 0 && clock::now() < patience) std::this_thread::yield();
      const auto c = begin(*l);
      EXPECT_TRUE(l->lend(c->done.place()));
    }
  };
  work_and_wait(30);
  EXPECT_EQ(overlaps, 0);
  std::vector<std::thread> callers;
  for (int k = 0; k < 2; ++k) callers.emplace_back([&] { work_and_wait(30); });
  for (auto& c : callers) c.join();
  EXPECT_EQ(overlaps, 0);
}

TEST(turn, a_loop_ends_while_its_turn_rests_or_is_long_over) {
  for (int i = 0; i < 50; ++i) {
    const auto l = *loop::start();
    EXPECT_TRUE(comes_to_run(*l));
    if (i % 2 == 0) std::this_thread::sleep_for(2ms);
  }
}

}  // namespace
}  // namespace holdfast::io
