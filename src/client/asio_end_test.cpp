#include <holdfast/asio.hpp>

#include "tests/temporary_directory.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// What happens to operations whose context ends. The sanitizer watches who touches it later.
class asio_end : public ::testing::TestWithParam<const char*> {
 protected:
  asio_end() : url_(GetParam() + directory_.path()) {
    auto one = open(url_);
    if (!one) return;
    holder_.emplace(std::move(*one));
    waiter_.emplace(open(url_).value());
  }
  void SetUp() override {
    if (!holder_) GTEST_SKIP() << "this build has no " << GetParam();
  }

  lock hold() { return holder_->acquire(lock_name("x")).value(); }
  /// A handler that must not run; what it owns shows how long it lives.
  auto never() {
    return [alive = alive_](const result<lock>&) { ADD_FAILURE() << "a handler ran"; };
  }
  bool handlers_live() const { return alive_.use_count() > 1; }

  const tests::temporary_directory directory_;
  const std::string url_;
  std::optional<session> holder_, waiter_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

INSTANTIATE_TEST_SUITE_P(store, asio_end, ::testing::Values("memory:", "local:"),
                         [](const auto& of) {
                           return std::string(of.param, std::string(of.param).find(':'));
                         });

TEST_P(asio_end, of_the_context_destroys_the_handlers_and_ends_the_waits) {
  auto held = std::make_optional(hold());
  auto context = std::make_unique<asio::io_context>();
  async_acquire(*waiter_, lock_name("x"), {.wait = forever},
                asio::bind_executor(*context, never()));
  async_acquire(*waiter_, lock_name("y"), {}, asio::bind_executor(*context, never()));
  ASSERT_TRUE(handlers_live());
  context.reset();
  EXPECT_FALSE(handlers_live());
  held.reset();
  EXPECT_TRUE(holder_->acquire(lock_name("x"), {.wait = 30s})) << "the wait goes on";
  EXPECT_TRUE(holder_->acquire(lock_name("y"), {.wait = 30s})) << "it was not given back";
  EXPECT_TRUE(waiter_->close());
}

TEST_P(asio_end, of_the_context_may_come_behind_close) {
  for (int round = 0; round < 20; ++round) {
    auto held = hold();
    auto context = std::make_unique<asio::io_context>();
    std::vector<session> waiters;
    for (int i = 0; i < 10; ++i) {
      waiters.push_back(open(url_).value());
      async_acquire(waiters.back(), lock_name("x"), {.wait = forever},
                    asio::bind_executor(*context, never()));
    }
    for (auto& s : waiters) EXPECT_TRUE(s.close());
    context.reset();
    EXPECT_FALSE(handlers_live());
  }
}

TEST_P(asio_end, of_the_context_may_come_while_the_answer_does) {
  for (int round = 0; round < 100; ++round) {
    auto held = std::make_optional(hold());
    auto context = std::make_unique<asio::io_context>();
    std::optional<asio::any_io_executor> executor = context->get_executor();
    if (round % 2 != 0) executor = asio::make_strand(*context);
    async_acquire(*waiter_, lock_name("x"), {.wait = 30s}, asio::bind_executor(*executor, never()));
    executor.reset();
    std::thread releases([&] { held.reset(); });
    context.reset();
    EXPECT_FALSE(handlers_live());
    releases.join();
    ASSERT_TRUE(holder_->acquire(lock_name("x"), {.wait = 30s})) << round;
  }
}

TEST_P(asio_end, of_a_pool_destroys_coroutines_with_their_locks_and_sessions) {
  auto held = hold();
  std::optional<asio::thread_pool> pool(2);
  std::atomic<int> wait{};
  for (int i = 0; i < 8; ++i) {
    asio::co_spawn(
        *pool,
        [this, i, alive = alive_, &wait]() -> asio::awaitable<void> {
          auto mine = open(url_);
          if (!mine) co_return;
          const lock_name own("own" + std::to_string(i));
          auto first = co_await async_acquire(*mine, own, {}, asio::use_awaitable);
          ++wait;
          const acquire_options o{.wait = forever};
          auto second = co_await async_acquire(*mine, lock_name("x"), o, asio::use_awaitable);
          ADD_FAILURE() << "it was granted beside its holder";
        },
        asio::detached);
  }
  while (wait < 8) std::this_thread::sleep_for(1ms);
  pool.reset();
  EXPECT_FALSE(handlers_live());
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(holder_->acquire(lock_name("own" + std::to_string(i)), {.wait = 30s})) << i;
  }
}

// Something else of the context may end later than the library's part, and begin something.
TEST_P(asio_end, of_the_context_drops_what_is_begun_afterwards) {
  struct beginner {
    session& in;
    lock_name name;
    asio::io_context::executor_type on;
    std::shared_ptr<int> alive;
    ~beginner() {
      async_acquire(in, name, {}, asio::bind_executor(on, [a = alive](const result<lock>&) {}));
    }
  };
  auto context = std::make_unique<asio::io_context>();
  auto last = std::make_shared<beginner>(*waiter_, lock_name("y"), context->get_executor(), alive_);
  async_acquire(*waiter_, lock_name("x"), {},
                asio::bind_executor(*context, [l = std::move(last)](const result<lock>&) {}));
  context.reset();
  EXPECT_FALSE(handlers_live());
  EXPECT_TRUE(holder_->acquire(lock_name("y"), {.wait = 30s}));
}

}  // namespace
}  // namespace holdfast
