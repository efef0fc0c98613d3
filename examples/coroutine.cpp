// Two coroutines on one thread take turns, with standalone Asio.

#include <holdfast/asio.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <utility>

using namespace std::chrono_literals;

static int failures = 0;

// [coroutine]
asio::awaitable<void> worker(holdfast::session& session, int number) {
  auto lock = co_await holdfast::async_acquire(session, holdfast::lock_name("turn"), {.wait = 10s},
                                               asio::use_awaitable);
  if (!lock) {
    // Not an exception: a lock that cannot be had is an expected thing.
    std::fprintf(stderr, "%d: %s\n", number, lock.error().message().c_str());
    ++failures;
    co_return;
  }
  std::printf("worker %d holds it\n", number);
  asio::steady_timer work(co_await asio::this_coro::executor, 20ms);
  co_await work.async_wait(asio::use_awaitable);
  // The destructor would block this thread, on which all coroutines run, until the store answers.
  const auto released = co_await holdfast::async_release(std::move(*lock), asio::use_awaitable);
  if (!released) std::fprintf(stderr, "%d: %s\n", number, released.error().message().c_str());
}
// [/coroutine]

int main(int argc, char** argv) {
  const char* url = argc > 1 ? argv[1] : "local:";
  auto first = holdfast::open(url);
  auto second = holdfast::open(url);
  if (!first || !second) {
    std::fprintf(stderr, "%s\n", (first ? second : first).error().message().c_str());
    return 1;
  }

  asio::io_context context;
  asio::co_spawn(context, worker(*first, 1), asio::detached);
  asio::co_spawn(context, worker(*second, 2), asio::detached);
  context.run();
  return failures;
}
