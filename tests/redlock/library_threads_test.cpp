#include "tests/engine/library_threads.hpp"

#include "core/sanitizer.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <memory>
#include <thread>

namespace holdfast::redlock_tests {
namespace {

using conformance::library_threads;

/// One store for all of them: names are free again after each.
std::string url_of_three_nodes() {
  static five_nodes nodes(3);
  static const bool set_up = [] {
    nodes.init();
    return true;
  }();
  return set_up ? nodes.url("ttl=5s") : std::string();
}

INSTANTIATE_TEST_SUITE_P(on, library_threads,
                         testing::Values(conformance::callback_store{"redlock",
                                                                     url_of_three_nodes}),
                         conformance::name_of_store);

class redlock_callbacks : public testing::Test {
 protected:
  redlock_callbacks() { nodes.init(); }
  five_nodes nodes{3};
};

TEST_F(redlock_callbacks, closing_when_a_heartbeat_is_answered_waits_for_nothing) {
  struct closing final : observer {
    void on(const event::beat&) noexcept override {
      if (auto* const s = of.exchange(nullptr)) closed.set_value(s->close());
    }
    std::atomic<session*> of{};
    std::promise<result<void>> closed;
  };
  const auto watcher = std::make_shared<closing>();
  auto said = watcher->closed.get_future();
  auto s = holdfast::open(nodes.url("ttl=1s"), {.observer = watcher}).value();
  watcher->of = &s;
  ASSERT_EQ(said.wait_for(20s), std::future_status::ready) << "close() hangs";
  EXPECT_EQ(said.get().error(), errc::outcome_unknown);
  session other = nodes.open();
  EXPECT_TRUE(succeeded(other.try_acquire(lock_name("a"))));
}

/// What follows from an answer waits until all that came with it were told; the connections do not
/// end before.
TEST_F(redlock_callbacks, a_key_of_a_failed_try_goes_though_the_last_owner_of_its_store_does) {
  for (std::size_t i = 0; i < 2; ++i) nodes[i].command({"SET", "a", "theirs", "PX", "60000"});
  for (int round = 0; round < 10; ++round) {
    auto s = std::make_unique<session>(nodes.open("ttl=20s&tokens=off&assume_fresh=yes"));
    std::promise<errc> told;
    auto gone = told.get_future();
    s->acquire(lock_name("a"), {}, [&](const result<lock>& l) {
      const errc why = l ? errc{} : l.error().code();
      s.reset();
      told.set_value(why);
    });
    ASSERT_EQ(gone.wait_for(20s), std::future_status::ready) << "closing hangs";
    EXPECT_EQ(gone.get(), errc::busy);
    EXPECT_TRUE(nodes.comes_to("a", 2, 5s)) << "ours stays for its ttl";
  }
}

/// Fault matrix: a completion forks, and the child returns from it | the child is stopped; its
/// parent keeps its connections and its locks
TEST_F(redlock_callbacks, a_child_that_returns_from_one_leaves_its_parent_alone) {
#if HOLDFAST_UNDER_TSAN
  GTEST_SKIP() << "TSan knows no child that goes on with a thread of its parent";
#endif
  session s = nodes.open("ttl=2s");
  auto held = s.try_acquire(lock_name("held")).value();
  const pid_t parent = ::getpid();
  const auto ours = std::this_thread::get_id();
  int forked = 0;
  for (int i = 0; i < 200; ++i) {
    std::promise<void> told;
    auto done = told.get_future();
    pid_t child = -1;
    s.acquire(lock_name("a" + std::to_string(i % 4)), {.wait = 10s}, [&](const result<lock>& l) {
      EXPECT_TRUE(l) << l.error().message();
      // Answers that are there before acquire() returns may come on this thread of the program's,
      // whose child may return.
      const bool is_ours = std::this_thread::get_id() == ours;
      if (!is_ours && i >= 50 * forked) child = ::fork();
      if (::getpid() == parent) told.set_value();
    });
    ASSERT_EQ(done.wait_for(20s), std::future_status::ready) << "its answer is gone";
    if (child <= 0) continue;
    ++forked;
    int how = 0;
    const auto ended = [&] { return ::waitpid(child, &how, WNOHANG) == child; };
    if (!process::eventually(ended, 20s)) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &how, 0);
    }
    EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT) << how;
  }
  EXPECT_GT(forked, 0);
  EXPECT_TRUE(succeeded(held.check()));
}

TEST_F(redlock_callbacks, nodes_are_not_asked_about_on_a_thread_of_the_library) {
  session other = nodes.open();
  session s = nodes.open();
  auto held = other.try_acquire(lock_name("a")).value();
  std::promise<result<redlock::overview>> told;
  auto seen = told.get_future();
  s.acquire(lock_name("a"), {.wait = 20s},
            [&](const result<lock>&) { told.set_value(redlock::status(nodes.url())); });
  EXPECT_TRUE(succeeded(std::move(held).release()));
  ASSERT_EQ(seen.wait_for(20s), std::future_status::ready) << "status() hangs";
  EXPECT_EQ(seen.get().error(), errc::would_block);
}

}  // namespace
}  // namespace holdfast::redlock_tests
