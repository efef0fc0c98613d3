#include <holdfast/asio.hpp>
#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include "client/outcome_fixture.hpp"
#include "core/sanitizer.hpp"
#include "io/thread/alarm.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <optional>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;

// What the child finds out is its exit status: zero, or the number of the line that was wrong.
template <class Child>
int in_child(Child child) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(child());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(fork, the_child_holds_nothing_and_says_so) {
  auto s = std::make_optional(std::move(*open("memory:fork1")));
  auto held = std::make_optional(std::move(*s->acquire(lock_name("x"))));
  auto ops = std::make_optional(std::move(*store::open("memory:fork1")));
  const int wrong = in_child([&] {
    if (code(held->check()) != errc::lost) return 1;
    if (held->check().error().message().find("fork") == std::string::npos) return 2;
    if (held->remaining() != 0ns) return 3;
    if (!held->lost().stop_requested()) return 4;
    if (code(s->acquire(lock_name("y"))) != errc::lost) return 5;
    if (code(s->close()) != errc::lost) return 6;
    if (s->remaining() != 0ns) return 7;
    if (!s->lost().stop_requested()) return 10;
    if (s->status().state != session_state::expired) return 11;
    if (code(held->fencing_token()) != errc::lost) return 12;
    if (code(s->acquire_all({lock_name("y"), lock_name("z")})) != errc::lost) return 13;
    if (code(ops->list()) != errc::lost) return 8;
    if (code(std::move(*held).release()) != errc::lost) return 9;
    held.reset();
    s.reset();
    ops.reset();
    return 0;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(held->check()) << "the parent still holds it";
  EXPECT_TRUE(std::move(*held).release());
}

// The child would find the mutex of a context locked that a thread of the library was posting to.
TEST(fork, nothing_is_posted_to_an_asio_context_between_its_two_calls) {
  asio::io_context context;
  const auto operations = asio::use_service<detail::asio_service>(context).operations();
  context.notify_fork(asio::io_context::fork_prepare);
  std::atomic<bool> posts{};
  std::atomic<bool> posted{};
  std::thread library([&] {
    posts = true;
    operations->unless_over([&] { posted = true; });
  });
  while (!posts) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(posted);
  context.notify_fork(asio::io_context::fork_parent);
  library.join();
  EXPECT_TRUE(posted);
}

#if !HOLDFAST_UNDER_TSAN  // It does not support threads in a forked child.
/// How a child ended that was given some seconds.
int end_of(pid_t child) {
  int how = 0;
  for (int tries = 0; tries < 1'000; ++tries) {
    if (::waitpid(child, &how, WNOHANG) == child) return how;
    ::usleep(10'000);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &how, 0);
  return how;
}

TEST(fork, the_child_may_not_return_from_a_callback_on_a_thread_of_the_library) {
  auto first = open("memory:fork3").value();
  auto s = open("memory:fork3").value();
  auto held = std::make_optional(first.acquire(lock_name("x")).value());
  std::promise<pid_t> forked;
  s.acquire(lock_name("x"), {.wait = 20s}, [&](const result<lock>&) {
    const pid_t child = ::fork();
    if (child != 0) forked.set_value(child);
  });
  held.reset();
  const int how = end_of(forked.get_future().get());
  EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT) << how;
  // The lock that the callback was given is its session's until that has returned.
  EXPECT_TRUE(client::testing::eventually([&] {
    return s.try_acquire(lock_name("x")).has_value();
  })) << "its parent goes on";
}

TEST(fork, the_child_may_return_from_a_callback_that_its_own_thread_runs) {
  auto s = open("memory:fork4").value();
  pid_t child = -1;
  s.acquire(lock_name("x"), {}, [&](const result<lock>&) { child = ::fork(); });
  if (child == 0) ::_exit(code(s.acquire(lock_name("y"))) == errc::lost ? 0 : 1);
  EXPECT_EQ(end_of(child), 0);
}

TEST(fork, the_child_that_tells_its_asio_context_hears_of_what_was_under_way) {
  auto a = open("memory:fork6").value();
  auto b = open("memory:fork6").value();
  auto held = std::make_optional(a.acquire(lock_name("x")).value());
  auto other = a.acquire(lock_name("y")).value();
  asio::io_context context;
  std::optional<errc> waited;
  std::optional<errc> released;
  async_acquire(b, lock_name("x"), {.wait = forever},
                asio::bind_executor(context, [&](const result<lock>& r) { waited = code(r); }));
  // Answered already: the handler runs in both.
  async_release(std::move(other),
                asio::bind_executor(context, [&](const result<void>& r) { released = code(r); }));
  context.notify_fork(asio::io_context::fork_prepare);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    context.notify_fork(asio::io_context::fork_child);
    context.run();
    ::_exit(waited == errc::lost && released == errc{} ? 7 : 1);
  }
  context.notify_fork(asio::io_context::fork_parent);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 7) << how;
  held.reset();
  context.run();
  EXPECT_EQ(waited, errc{}) << "the parent goes on";
  EXPECT_EQ(released, errc{});
}

TEST(fork, the_child_may_open_a_session_of_its_own) {
  auto s = open("memory:fork2");
  ASSERT_TRUE(s);
  // AddressSanitizer does not take its allocator's lock for a fork, and the child would wait for a
  // thread that it does not have: let those of the parent come to rest.
  ::usleep(300'000);
  const int wrong = in_child([&] {
    auto own = open("memory:fork2-child", {.ttl = 4s});
    if (!own) return 1;
    auto held = own->acquire(lock_name("x"));
    if (!held) return 2;
    ::usleep(5'000'000);
    if (!held->check()) return 3;
    return own->close() ? 0 : 4;
  });
  EXPECT_EQ(wrong, 0);
}

#if HOLDFAST_UNDER_ASAN
// Its leak checker runs at exit(), and sees no stack of a thread that the child does not have.
TEST(fork, the_child_that_exits_has_leaked_nothing) {
  // A program of its own: what other tests began of Asio's joins its threads at the end, which a
  // child has not got.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        auto s = open("memory:fork5").value();
        { const auto closed = open("memory:fork5"); }  // Its end is told by the alarm's thread.
        io::alarm::of_process().value()->run([] {}, 1min);
        ::usleep(300'000);  // Until that, too, is freed there.
        const pid_t child = ::fork();
        if (child == 0) std::exit(0);
        ::_exit(end_of(child) == 0 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}
#endif

// NOLINTNEXTLINE: the test is about static destruction.
std::optional<lock> still_held;
std::optional<session> still_open;

TEST(fork, a_program_may_return_from_main_with_locks_held) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // A program of its own, not a fork of this one.
  EXPECT_EXIT(
      {
        still_open.emplace(std::move(*open("memory:exit")));
        still_held.emplace(std::move(*still_open->acquire(lock_name("x"))));
        std::exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}
#endif

}  // namespace
}  // namespace holdfast
