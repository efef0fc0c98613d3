#include <holdfast/asio.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(asio, a_coroutine_awaits_a_lock_on_its_own_executor) {
  auto a = open("memory:asio1");
  auto b = open("memory:asio1");
  ASSERT_TRUE(a && b);
  auto held = std::make_optional(std::move(*a->acquire(lock_name("x"))));
  asio::io_context context;
  bool got = false;
  bool busy = false;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        auto once = co_await async_acquire(*b, lock_name("x"), {}, asio::use_awaitable);
        busy = !once && once.error() == errc::busy;
        auto waited =
            co_await async_acquire(*b, lock_name("x"), {.wait = 30s}, asio::use_awaitable);
        got = waited.has_value();
        EXPECT_TRUE(context.get_executor().running_in_this_thread());
      },
      asio::detached);
  asio::steady_timer later(context, 30ms);
  later.async_wait([&](auto) { held.reset(); });
  context.run();
  EXPECT_TRUE(busy);
  EXPECT_TRUE(got);
}

// As the callback form may: each would deepen the stack of a coroutine that asks again and again.
TEST(asio, a_handler_never_runs_inside_the_call_that_begins_its_operation) {
  auto s = open("memory:asio4");
  ASSERT_TRUE(s);
  asio::io_context context;
  bool begins = false;
  int ran = 0;
  const auto given_back = [&](const result<void>& r) {
    EXPECT_TRUE(r);
    EXPECT_FALSE(begins);
    ++ran;
  };
  const auto granted = [&](result<lock> held) {
    ASSERT_TRUE(held);
    EXPECT_FALSE(begins);
    ++ran;
    begins = true;
    async_release(std::move(*held), asio::bind_executor(context, given_back));
    begins = false;
  };
  asio::post(context, [&] {
    begins = true;
    async_acquire(*s, lock_name("x"), {}, asio::bind_executor(context, granted));
    begins = false;
  });
  context.run();
  EXPECT_EQ(ran, 2);
}

TEST(asio, a_coroutine_may_take_its_lock_any_number_of_times) {
  auto s = open("memory:asio5");
  ASSERT_TRUE(s);
  constexpr int times = 20'000;
  asio::io_context context;
  int taken = 0;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < times; ++i) {
          auto held = co_await async_acquire(*s, lock_name("x"), {}, asio::use_awaitable);
          if (!held) co_return;
          if (co_await async_release(std::move(*held), asio::use_awaitable)) ++taken;
        }
      },
      asio::detached);
  context.run();
  EXPECT_EQ(taken, times);
}

// The sanitizer watches the thread that has brought the answer.
TEST(asio, a_context_may_end_as_soon_as_a_handler_has_stopped_it) {
  auto a = open("memory:asio6");
  auto b = open("memory:asio6");
  ASSERT_TRUE(a && b);
  for (int round = 0; round < 200; ++round) {
    auto held = std::make_optional(std::move(*a->acquire(lock_name("x"))));
    auto context = std::make_unique<asio::io_context>();
    bool got = false;
    const auto stops = [&](const result<lock>& l) {
      got = l.has_value();
      context->stop();
    };
    const auto executor = [&]() -> asio::any_io_executor {
      if (round % 2 == 0) return context->get_executor();
      return asio::make_strand(*context);
    };
    async_acquire(*b, lock_name("x"), {.wait = 30s}, asio::bind_executor(executor(), stops));
    std::thread releases([&] { held.reset(); });
    context->run();
    context.reset();
    releases.join();
    ASSERT_TRUE(got) << round;
  }
}

TEST(asio, a_future_gets_the_result) {
  auto s = open("memory:asio2");
  ASSERT_TRUE(s);
  auto coming = async_acquire(*s, lock_name("x"), {}, asio::use_future);
  auto got = coming.get();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->check());
}

TEST(asio, a_cancellation_slot_ends_the_wait) {
  auto a = open("memory:asio3");
  auto b = open("memory:asio3");
  ASSERT_TRUE(a && b);
  auto held = a->acquire(lock_name("x"));
  ASSERT_TRUE(held);
  asio::io_context context;
  asio::cancellation_signal signal;
  std::optional<errc> why;
  async_acquire(
      *b, lock_name("x"), {.wait = forever},
      asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(context, [&](result<lock> r) {
                                     if (!r) why = r.error().code();
                                   })));
  asio::steady_timer later(context, 30ms);
  later.async_wait([&](auto) { signal.emit(asio::cancellation_type::all); });
  context.run();
  EXPECT_EQ(why, errc::cancelled);
}

}  // namespace
}  // namespace holdfast
