// An engine that keeps the queue to itself: waiters without an order, with nobody ahead.
#include "client/leased_engine_fixture.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;
using client::testing::eventually;
using client::testing::listener;

struct own_queue : client::testing::leased_store {
  /// Whether the message of a failed acquire has the engine's words.
  static bool tells(const error& e, const std::string& words) {
    return e.message().find(words) != std::string::npos;
  }
};

TEST_F(own_queue, wakes_a_waiter_by_its_watch) {
  const auto watcher = std::make_shared<listener>();
  auto a = open_session();
  auto b = open_session(watcher);
  std::optional<lock> held = must_acquire(a, "x");
  std::atomic<bool> got{};
  b.acquire(lock_name("x"), {.wait = 60s}, [&](result<lock> l) {
    EXPECT_TRUE(l && l->check());
    got = true;
  });
  EXPECT_TRUE(eventually([&] { return watcher->waiting == 1; }));
  EXPECT_EQ(watcher->ahead, 0U);
  const auto began = clock::now();
  EXPECT_TRUE(std::move(*held).release());
  EXPECT_TRUE(eventually([&] { return got.load(); }));
  EXPECT_LT(clock::now() - began, 3500ms) << "it looks by itself only every four seconds";
  EXPECT_EQ(watcher->waiting, 1);
}

TEST_F(own_queue, is_left_by_a_waiter_that_is_cancelled) {
  auto a = open_session();
  auto b = open_session();
  std::optional<lock> held = must_acquire(a, "x");
  std::stop_source cancel;
  std::thread later([&] {
    std::this_thread::sleep_for(50ms);
    cancel.request_stop();
  });
  EXPECT_EQ(code(b.acquire(lock_name("x"), {.wait = 60s, .stop = cancel.get_token()})),
            errc::cancelled);
  later.join();
  EXPECT_EQ(engine_->leaves, 1);
  EXPECT_TRUE(std::move(*held).release());
  EXPECT_TRUE(a.try_acquire(lock_name("x"))) << "the engine contends no more";
}

TEST_F(own_queue, is_left_by_a_waiter_whose_time_is_up) {
  auto a = open_session();
  auto b = open_session();
  auto held = must_acquire(a, "x");
  const auto got = b.acquire(lock_name("x"), {.wait = 50ms});
  EXPECT_EQ(code(got), errc::timed_out);
  EXPECT_EQ(engine_->leaves, 1);
  EXPECT_EQ(engine_->gates_moved, 0);
}

TEST_F(own_queue, is_left_later_without_moving_the_gate_when_the_leave_is_not_answered) {
  auto a = open_session();
  auto b = open_session();
  std::optional<lock> held = must_acquire(a, "x");
  engine_->fail_leaves = 5;
  EXPECT_EQ(code(b.acquire(lock_name("x"), {.wait = 50ms})), errc::timed_out);
  EXPECT_TRUE(eventually([&] { return engine_->leaves == 6; }));
  EXPECT_EQ(engine_->gates_moved, 0);
  EXPECT_TRUE(std::move(*held).release());
  EXPECT_TRUE(eventually([&] { return a.try_acquire(lock_name("x")).has_value(); }));
}

TEST_F(own_queue, that_cannot_be_read_ends_the_wait_with_its_reason) {
  const auto watcher = std::make_shared<listener>();
  auto a = open_session();
  auto b = open_session(watcher);
  auto held = must_acquire(a, "x");
  engine_->blind = true;
  std::optional<result<lock>> got;
  std::atomic<bool> done{};
  b.acquire(lock_name("x"), {.wait = 2s}, [&](result<lock> l) {
    got.emplace(std::move(l));
    done = true;
  });
  ASSERT_TRUE(eventually([&] { return watcher->waiting == 1; }));
  EXPECT_TRUE(std::move(held).release());
  ASSERT_TRUE(eventually([&] { return done.load(); }));
  ASSERT_EQ(code(*got), errc::unavailable);
  EXPECT_TRUE(tells(got->error(), "no majority answers")) << got->error().message();
}

TEST_F(own_queue, that_cannot_be_joined_is_tried_until_the_limit_and_is_no_wait_behind_somebody) {
  const auto watcher = std::make_shared<listener>();
  auto s = open_session(watcher);
  engine_->closed = true;
  const auto began = clock::now();
  const auto got = s.acquire(lock_name("x"), {.wait = 100ms});
  EXPECT_GE(clock::now() - began, 100ms);
  ASSERT_EQ(code(got), errc::unavailable);
  EXPECT_TRUE(tells(got.error(), "no majority answers")) << got.error().message();
  EXPECT_FALSE(got.error().needs_operator()) << "it may answer again";
  EXPECT_EQ(watcher->waiting, 0);
}

TEST_F(own_queue, that_cannot_be_joined_before_a_person_has_acted_is_told_as_such) {
  auto s = open_session();
  engine_->closed = engine_->barred = true;
  const auto got = s.acquire(lock_name("x"), {.wait = 10ms});
  ASSERT_EQ(code(got), errc::unavailable);
  EXPECT_TRUE(got.error().needs_operator());
}

TEST_F(own_queue, that_cannot_be_joined_is_told_also_when_nothing_else_keeps_the_loop) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> lost{};
    {
      auto s = open_session();
      engine_->closed = true;
      for (int i = 0; i < 10; ++i) {
        s.acquire(lock_name("n" + std::to_string(i)), {.wait = 30s}, [&](result<lock> l) {
          if (code(l) == errc::lost) ++lost;
        });
      }
      engine_->closed = false;
    }
    ASSERT_TRUE(eventually([&] { return lost == 10; })) << lost << " were told";
  }
}

TEST_F(own_queue, tells_a_try_why_it_is_busy) {
  auto a = open_session();
  auto b = open_session();
  auto held = must_acquire(a, "x");
  const auto got = b.try_acquire(lock_name("x"));
  ASSERT_EQ(code(got), errc::busy);
  EXPECT_TRUE(tells(got.error(), "a majority of nodes have it")) << got.error().message();
}

TEST_F(own_queue, refuses_names_and_modes_with_the_engines_words) {
  auto s = open_session();
  const auto name = s.acquire(lock_name("holdfast:x"), {.wait = 1s});
  ASSERT_EQ(code(name), errc::invalid_argument);
  EXPECT_TRUE(tells(name.error(), "the prefix holdfast:")) << name.error().message();
  const auto how = s.try_acquire(lock_name("x"), mode::shared());
  ASSERT_EQ(code(how), errc::unsupported);
  EXPECT_TRUE(tells(how.error(), "exclusive locks only")) << how.error().message();
  EXPECT_EQ(engine_->leaves, 0);
  EXPECT_TRUE(s.try_acquire(lock_name("x")));
}

}  // namespace
}  // namespace holdfast
