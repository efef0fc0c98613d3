#include "tests/process/process_fixture.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

/// Two containers that share a volume: both processes are pid 1 of a pid namespace of their own.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;

constexpr int refused = 77;

/// Runs `body` as pid 1 of a new pid namespace; killing the child kills it too.
child as_pid_one(const std::function<int()>& body) {
  return child::fork([&] {
    if (::unshare(CLONE_NEWPID) != 0) return refused;
    const pid_t first = ::fork();
    if (first < 0) return refused;
    if (first == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(::getpid() == 1 ? body() : refused);
    }
    int status = 0;
    ::waitpid(first, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  });
}

class namespaces : public process_test {
 protected:
  void SetUp() override {
    process_test::SetUp();
    auto probe = as_pid_one([] { return 0; });
    if (probe.wait() == refused) {
      GTEST_SKIP() << "NOT TESTED: the kernel refuses new pid namespaces (unshare: needs root)";
    }
  }
};

TEST_P(namespaces, two_first_processes_exclude_each_other_and_hand_over) {
  std::vector<child> both;
  for (int i = 0; i < 2; ++i) {
    both.push_back(as_pid_one([&] { return work(at(), "x", 10s); }));
  }
  EXPECT_TRUE(eventually([&] { return shared().holders >= 40; })) << shared().holders;
  shared().stop = 1;
  for (auto& c : both) EXPECT_EQ(c.wait(), 0);
  EXPECT_EQ(shared().violations, 0U);
  expect_clean_history();
  expect_clean_store("x");
}

TEST_P(namespaces, a_crash_in_one_is_seen_in_the_other_by_the_life_lock) {
  auto holder = as_pid_one([&] {
    auto s = join(at(), 1h);
    auto l = s.try_acquire(lock_name("x"));
    shared().slots[0] = l ? 1 : 2;
    for (;;) ::pause();
    return 0;
  });
  ASSERT_TRUE(eventually([&] { return shared().slots[0] != 0; }));
  ASSERT_EQ(shared().slots[0], 1U);
  auto other = as_pid_one([&] {
    auto s = join(at(), 1h);
    // Our pids are both 1: whoever judges by pid would take the other for itself.
    if (s.try_acquire(lock_name("x")).has_value()) return 3;
    shared().slots[1] = 1;
    return s.acquire(lock_name("x"), {.wait = 60s}).has_value() ? 0 : 4;
  });
  ASSERT_TRUE(eventually([&] { return shared().slots[1] == 1; }));
  std::this_thread::sleep_for(20ms);
  holder.end();
  EXPECT_EQ(other.wait(), 0);
  expect_clean_store("x");
}

TEST_P(namespaces, killed_first_processes_never_write_after_a_newer_one) {
  const duration ttl = std::max<duration>(300ms, GetParam().ttl_min);
  std::vector<child> both;
  const auto start = [&] { return as_pid_one([&] { return work(at(), "x", ttl); }); };
  for (int i = 0; i < 2; ++i) both.push_back(start());
  for (int i = 0; i < rounds(30, 300); ++i) {
    std::this_thread::sleep_for(random_time(20ms));
    auto& victim = both[random_below(2)];
    victim.end();
    victim = start();
    ASSERT_EQ(shared().violations, 0U) << "round " << i;
  }
  shared().stop = 1;
  for (auto& c : both) EXPECT_EQ(c.wait(), 0);
  expect_clean_history();
  expect_clean_store("x");
}

INSTANTIATE_TEST_SUITE_P(engines, namespaces, testing::ValuesIn(all_stores()), kind_name);

}  // namespace
}  // namespace holdfast::process
