#include "io/process/process_mutex.hpp"

#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

/// What the processes of a test share.
struct shared_page {
  process_mutex::word word{0};
  std::atomic<std::uint32_t> inside{0};
  std::atomic<std::uint32_t> overlaps{0};
  std::atomic<std::uint32_t> ready{0};
  std::uint64_t counter{0};  // Plain: only the mutex protects it.
};

class mutex_between : public testing::Test {
 protected:
  mutex_between() {
    void* memory = ::mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    page_ = new (memory) shared_page;
  }
  ~mutex_between() override {
    for (const pid_t child : children_) end(child);
    ::munmap(page_, sizeof(shared_page));
  }

  shared_page& page() const { return *page_; }
  process_slot take_slot() const {
    const std::string path = place_.path() + "/slots";
    auto slot = process_slot::take(unique_fd(::open(path.c_str(), O_RDWR | O_CREAT, 0600)));
    if (!slot) throw std::runtime_error(slot.error().message());
    return std::move(*slot);
  }

  /// Runs `body` in a process with a slot of its own; its exit code is what body returns.
  pid_t start(const std::function<int(process_mutex&)>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(run(body));
    children_.push_back(child);
    return child;
  }
  /// The same as pid 1 of a pid namespace of its own; zero when the kernel refuses.
  pid_t start_as_pid_1(const std::function<int(process_mutex&)>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::unshare(CLONE_NEWPID) != 0) ::_exit(99);
      const pid_t first = ::fork();
      if (first == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // Ended with the one that is known outside.
        ::_exit(::getpid() == 1 ? run(body) : 98);
      }
      ::_exit(code_of(first));
    }
    children_.push_back(child);
    return child;
  }
  static int code_of(pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int result_of(pid_t child) {
    std::erase(children_, child);
    return code_of(child);
  }
  void end(pid_t child) {
    ::kill(child, SIGKILL);
    (void)result_of(child);
  }
  void wait_for_ready(std::uint32_t n) const {
    for (int i = 0; i < 30'000 && page().ready.load() < n; ++i) ::usleep(1000);
    ASSERT_GE(page().ready.load(), n);
  }
  /// Says it is inside, then stays there for ever.
  int stay(process_mutex& m) const {
    if (m.lock(60s)) return 1;
    page().ready.fetch_add(1);
    for (;;) ::pause();
  }
  int count(process_mutex& m, int rounds) const {
    for (int i = 0; i < rounds; ++i) {
      if (m.lock(60s)) return 1;
      if (page().inside.fetch_add(1) != 0) page().overlaps.fetch_add(1);
      ++page().counter;
      page().inside.fetch_sub(1);
      m.unlock();
    }
    return 0;
  }

 private:
  int run(const std::function<int(process_mutex&)>& body) const {
    const process_slot slot = take_slot();
    process_mutex m(page().word, slot);
    return body(m);
  }

  tests::temporary_directory place_;
  shared_page* page_{};
  std::vector<pid_t> children_;
};

TEST_F(mutex_between, threads_of_one_process_exclude_each_other) {
  const process_slot slot = take_slot();
  process_mutex m(page().word, slot);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(count(m, 2000), 0); });
  for (auto& t : threads) t.join();
  EXPECT_EQ(page().counter, 8000U);
  EXPECT_EQ(page().overlaps.load(), 0U);
  EXPECT_FALSE(m.holder());
}

TEST_F(mutex_between, processes_exclude_each_other) {
  std::vector<pid_t> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(start([this](process_mutex& m) { return count(m, 2000); }));
  for (const pid_t p : all) EXPECT_EQ(result_of(p), 0);
  EXPECT_EQ(page().counter, 8000U);
  EXPECT_EQ(page().overlaps.load(), 0U);
}

TEST_F(mutex_between, two_processes_that_are_both_pid_1_exclude_each_other) {
  const auto body = [this](process_mutex& m) { return count(m, 5000); };
  const pid_t a = start_as_pid_1(body);
  const pid_t b = start_as_pid_1(body);
  const int first = result_of(a);
  const int second = result_of(b);
  if (first == 99 || second == 99) GTEST_SKIP() << "NOT TESTED: no pid namespaces here";
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 0);
  EXPECT_EQ(page().counter, 10000U);
  EXPECT_EQ(page().overlaps.load(), 0U);
}

TEST_F(mutex_between, the_death_of_a_waiter_with_the_owners_pid_does_not_free_it) {
  const pid_t owner = start_as_pid_1([this](process_mutex& m) { return stay(m); });
  while (page().ready.load() == 0) {
    if (::waitpid(owner, nullptr, WNOHANG) != 0) {
      GTEST_SKIP() << "NOT TESTED: no pid namespaces here";
    }
    ::usleep(1000);
  }
  const pid_t waiter = start_as_pid_1([](process_mutex& m) { return m.lock(100ms) ? 7 : 0; });
  EXPECT_EQ(result_of(waiter), 7);
  const process_slot slot = take_slot();
  process_mutex m(page().word, slot);
  const auto who = m.lock(100ms);
  EXPECT_TRUE(who);
}

TEST_F(mutex_between, a_dead_owner_is_taken_over_from_at_once) {
  const process_slot slot = take_slot();
  process_mutex m(page().word, slot);
  duration fastest = duration::max();
  for (std::uint32_t round = 1; round <= 20; ++round) {
    const pid_t owner = start([this](process_mutex& other) { return stay(other); });
    wait_for_ready(round);
    end(owner);
    const time_point before = clock::now();
    ASSERT_FALSE(m.lock(60s));
    fastest = std::min(fastest, clock::now() - before);
    m.unlock();
  }
  EXPECT_LT(fastest, 1s);
}

TEST_F(mutex_between, an_owner_that_is_killed_while_others_sleep_is_replaced) {
  const pid_t owner = start([this](process_mutex& m) { return stay(m); });
  wait_for_ready(1);
  const auto body = [this](process_mutex& m) { return count(m, 10); };
  const pid_t a = start(body);
  const pid_t b = start(body);
  ::usleep(30'000);
  EXPECT_EQ(page().counter, 0U);
  end(owner);
  EXPECT_EQ(result_of(a), 0);
  EXPECT_EQ(result_of(b), 0);
  EXPECT_EQ(page().counter, 20U);
}

TEST_F(mutex_between, a_stopped_owner_is_waited_for_and_named_and_never_replaced) {
  const pid_t owner = start([this](process_mutex& m) { return stay(m); });
  wait_for_ready(1);
  ::kill(owner, SIGSTOP);
  const process_slot slot = take_slot();
  process_mutex m(page().word, slot);
  const time_point before = clock::now();
  const auto who = m.lock(150ms);
  ASSERT_TRUE(who);
  EXPECT_EQ(who->pid, owner);
  EXPECT_GE(clock::now() - before, 150ms);
  EXPECT_LT(clock::now() - before, 30s);
  ASSERT_TRUE(m.holder());
  EXPECT_EQ(m.holder()->pid, owner);
  ::kill(owner, SIGCONT);
}

TEST_F(mutex_between, the_next_user_of_a_dead_owners_slot_finds_it_free) {
  const pid_t owner = start([this](process_mutex& m) { return stay(m); });
  wait_for_ready(1);
  end(owner);
  const process_slot slot = take_slot();  // The first free one: the dead owner's.
  process_mutex m(page().word, slot);
  EXPECT_FALSE(m.holder());
  EXPECT_FALSE(m.lock(0s)) << "it has to wait until the dead owner is found";
  m.unlock();
}

TEST_F(mutex_between, a_thread_that_holds_it_is_never_taken_for_dead) {
  const process_slot slot = take_slot();
  process_mutex m(page().word, slot);
  ASSERT_FALSE(m.lock(60s));
  std::thread other([&] {
    const auto who = m.lock(60ms);
    ASSERT_TRUE(who);
    EXPECT_EQ(who->pid, ::getpid());
  });
  other.join();
  m.unlock();
}

TEST_F(mutex_between, killing_at_random_moments_never_leaves_it_stuck) {
  for (int round = 0; round < 60; ++round) {
    const pid_t p = start([this](process_mutex& m) { return count(m, 1'000'000); });
    const pid_t q = start([this](process_mutex& m) { return count(m, 1'000'000); });
    ::usleep(static_cast<useconds_t>(500 + 137 * (round % 23)));
    ::kill(p, SIGKILL);
    ::kill(q, SIGKILL);
    (void)result_of(p);
    (void)result_of(q);
    const process_slot slot = take_slot();
    process_mutex m(page().word, slot);
    ASSERT_FALSE(m.lock(60s)) << "round " << round;
    m.unlock();
  }
}

TEST_F(mutex_between, slots_are_not_inherited_by_a_forked_child) {
  const process_slot slot = take_slot();
  EXPECT_TRUE(slot.look(slot.number()).alive);
  const pid_t child = start([&](process_mutex&) {
    const process_slot own = take_slot();
    if (own.number() == slot.number()) return 1;
    return own.look(slot.number()).alive && own.look(slot.number()).pid == ::getppid() ? 0 : 2;
  });
  EXPECT_EQ(result_of(child), 0);
  EXPECT_FALSE(slot.look(slot.number() + 1).alive);
}

}  // namespace
}  // namespace holdfast::io
