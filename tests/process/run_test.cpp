#include "tests/process/process_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

/// `holdfast run`: the wrapper, the guardian and the command are killed or stopped, alone and
/// together. The next command's first write must come after the last write of the one before.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;

enum target : unsigned { wrapper = 1, guardian = 2, command = 4, everybody = 7 };

class run : public process_test {
 protected:
  child start(std::chrono::milliseconds ttl) {
    return child::execute({HOLDFAST_PROGRAM, "run", "x", "--store", at().url, "--ttl",
                           std::to_string(ttl.count()) + "ms", "--wait", "60s", "--",
                           WITNESS_PROGRAM, at().page()});
  }

  struct trio {
    pid_t of_wrapper, of_guardian, of_command;
  };

  /// Waits for the command with number `n` to write, and says who runs it. A machine that stands
  /// still for longer than the ttl takes the lock or the place in the queue from it: started again.
  trio wait_for(std::uint64_t n, child& by, std::chrono::milliseconds ttl) {
    const auto has_written = [&] {
      if (shared().holders >= n) return true;
      if (const auto code = by.wait(0ms)) {
        EXPECT_EQ(code, 76) << "holder " << n;
        by = start(ttl);
      }
      return HasFailure();
    };
    EXPECT_TRUE(eventually(has_written, 60s)) << "holder " << n;
    return {by.pid(), shared().guardian, shared().command};
  }

  static void signal(const trio& t, unsigned whom, int number) {
    if ((whom & wrapper) != 0) ::kill(t.of_wrapper, number);
    if ((whom & guardian) != 0) ::kill(t.of_guardian, number);
    if ((whom & command) != 0) ::kill(t.of_command, number);
  }

  /// Wakes whom a round has stopped, the command last.
  void wake(const trio& t, unsigned whom, bool has_passed) {
    signal(t, whom & ~command, SIGCONT);
    if (whom == everybody && has_passed) {
      EXPECT_TRUE(is_ended(t.of_command)) << "a guardian that woke late left its command alive";
    }
    signal(t, whom, SIGCONT);
  }

  /// Ends all that a round has left, in the order in which nothing can be left behind.
  void end(const trio& t, child& by) {
    signal(t, everybody, SIGCONT);
    ::kill(t.of_wrapper, SIGKILL);
    EXPECT_TRUE(by.wait().has_value());
    EXPECT_TRUE(is_ended(t.of_command)) << "the command outlives its wrapper";
  }

  bool is_ended(pid_t process) {
    return eventually([&] { return runs_no_more(process); }, 30s);
  }

  /// Also while its parent has not asked for its end.
  static bool runs_no_more(pid_t process) {
    ::waitpid(process, nullptr, WNOHANG);  // It may have become our own child, an orphan.
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    const std::string text(std::istreambuf_iterator<char>(stat), {});
    const auto state = text.rfind(") ");
    return state == std::string::npos || text[state + 2] == 'Z' || text[state + 2] == 'X';
  }
};

/// With both stopped nobody is left to end the command in time: until one of them wakes, or when
/// the command wakes with them, it may write although the ttl is over, and the docs say so.
bool promised(unsigned whom, int number) {
  return number == SIGKILL || (whom & (wrapper | guardian)) != (wrapper | guardian);
}

TEST_P(run, no_command_writes_after_the_next_one_has) {
  const auto ttl =
      std::max(400ms, std::chrono::duration_cast<std::chrono::milliseconds>(GetParam().ttl_min));
  // A round takes a ttl or two, whatever the store does.
  const int most = std::min(1000, static_cast<int>(600s / ttl));
  const int total = rounds(static_cast<int>(20s / ttl), most);
  auto holder = start(ttl);
  std::uint64_t excused = 0;
  for (int round = 1; round <= total; ++round) {
    const auto old = wait_for(static_cast<std::uint64_t>(round), holder, ttl);
    ASSERT_FALSE(HasFailure());
    auto next = start(ttl);
    std::this_thread::sleep_for(random_time(30ms));
    const auto whom = static_cast<unsigned>(1 + random_below(7));
    const int number = random_below(3) == 0 ? SIGSTOP : SIGKILL;
    signal(old, whom, number);
    std::this_thread::sleep_for(random_time(number == SIGSTOP ? 2 * ttl : 5ms));
    const bool has_passed = shared().holders > static_cast<std::uint64_t>(round);
    if (number == SIGSTOP) wake(old, whom, has_passed);
    end(old, holder);
    if (!promised(whom, number)) excused += shared().violations.exchange(0);
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(shared().violations, 0U)
        << "round " << round << ": " << (number == SIGKILL ? "killed " : "stopped ") << whom;
    holder = std::move(next);
  }
  wait_for(static_cast<std::uint64_t>(total) + 1, holder, ttl);
  shared().stop = 1;
  EXPECT_EQ(holder.wait(), 0);
  RecordProperty("excused", static_cast<int>(excused));
  EXPECT_TRUE(nobody_is_left()) << "a command or guardian is left over";
  expect_clean_store("x");
}

/// On a host that sees that a process has ended.
class run_seen : public run {};

TEST_P(run_seen, a_killed_wrapper_frees_the_lock_at_once) {
  for (int i = 0; i < rounds(5, 50); ++i) {
    shared().holders = 0;
    auto first = start(1h);
    wait_for(1, first, 1h);
    auto second = start(1h);
    std::this_thread::sleep_for(random_time(20ms));
    first.end();
    // Only the life lock can free it: the ttl is an hour.
    wait_for(2, second, 1h);
    ASSERT_FALSE(HasFailure());
    shared().stop = 1;
    EXPECT_EQ(second.wait(), 0);
    shared().stop = 0;
  }
  expect_clean_store("x");
}

TEST_P(run_seen, no_wait_breaks_a_dead_owner_first) {
  auto first = start(1h);
  const auto t = wait_for(1, first, 1h);
  ::kill(t.of_guardian, SIGKILL);
  ::kill(t.of_command, SIGKILL);
  first.end();
  EXPECT_TRUE(nobody_is_left());
  auto next = child::execute(
      {HOLDFAST_PROGRAM, "run", "x", "--store", at().patient_url, "--no-wait", "--", "true"});
  EXPECT_EQ(next.wait(), 0);
  expect_clean_store("x");
}

TEST_P(run, a_stopped_wrapper_ends_its_command_before_the_lock_passes) {
  auto first = start(2s);
  const auto old = wait_for(1, first, 2s);
  auto second = start(1h);
  ::kill(old.of_wrapper, SIGSTOP);
  wait_for(2, second, 1h);
  EXPECT_EQ(shared().violations, 0U);
  EXPECT_TRUE(runs_no_more(old.of_command)) << "the old command still runs";
  ::kill(old.of_wrapper, SIGCONT);
  EXPECT_EQ(first.wait(), 76);
  shared().stop = 1;
  EXPECT_EQ(second.wait(), 0);
  expect_clean_store("x");
}

INSTANTIATE_TEST_SUITE_P(engines, run, testing::ValuesIn(all_stores_and_redlock()), kind_name);
INSTANTIATE_TEST_SUITE_P(engines, run_seen, testing::ValuesIn(all_stores()), kind_name);

}  // namespace
}  // namespace holdfast::process
