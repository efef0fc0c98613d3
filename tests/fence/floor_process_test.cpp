#include <holdfast/fence.hpp>

#include "tests/temporary_directory.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

/// Floor files of the real file system, and the processes that share one.

namespace holdfast::tests {
namespace {

using namespace std::chrono_literals;

const token_source source{store_identity("local/0f"), lock_name("nightly")};
const enter_options at_once{.wait = duration::zero(), .stop = {}};
fencing_token numbered(std::uint64_t value) { return {source, token{value}}; }
errc code(const auto& r) { return r ? errc{} : r.error().code(); }

/// Another process that has entered and stays so until it is told, or killed.
class holder {
 public:
  holder(const std::string& url, std::uint64_t t, mode how) {
    int ready[2]{};
    int end[2]{};
    if (::pipe(ready) != 0 || ::pipe(end) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(end[1]);
      auto f = fence::open(url, "r");
      auto p = f ? f->enter(numbered(t), how, at_once) : result<pass>(f.error());
      char sign = p ? 'y' : 'n';
      if (::write(ready[1], &sign, 1) != 1) ::_exit(1);
      while (::read(end[0], &sign, 1) < 0) {
      }
      p = errc::busy;
      ::_exit(0);
    }
    ::close(ready[1]);
    ::close(end[0]);
    char sign{};
    entered_ = ::read(ready[0], &sign, 1) == 1 && sign == 'y';
    ::close(ready[0]);
    end_ = end[1];
  }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;
  ~holder() { leave(); }
  bool entered() const { return entered_; }
  void leave() {
    if (pid_ <= 0) return;
    // Not by closing it: later children have inherited it, too.
    const char sign = 'e';
    static_cast<void>(!::write(end_, &sign, 1));
    await_end();
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    await_end();
  }

 private:
  void await_end() {
    ::close(end_);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  pid_t pid_{-1};
  int end_{-1};
  bool entered_{};
};

class floor_of_processes : public ::testing::Test {
 protected:
  fence opened() { return std::move(fence::open(url_, "r").value()); }
  temporary_directory at_;
  std::string path_{at_.path() + "/fence"};
  std::string url_{"file:" + path_};
};

TEST_F(floor_of_processes, the_floor_outlives_the_fence) {
  ASSERT_TRUE(opened().admit(numbered(5)));
  auto again = opened();
  EXPECT_EQ(again.floor(), token{5});
  EXPECT_EQ(again.source(), source);
  EXPECT_EQ(code(again.admit(numbered(4))), errc::stale_token);
  auto foreign = numbered(9);
  foreign.from.store = store_identity("local/10");
  EXPECT_EQ(code(again.admit(foreign)), errc::invalid_argument);
  EXPECT_TRUE(again.admit(numbered(6), mode::shared()));
  EXPECT_EQ(opened().newest(), token{6});
  EXPECT_EQ(opened().floor(), token{5});
}

TEST_F(floor_of_processes, two_fences_see_each_others_tokens_at_once) {
  auto one = opened();
  auto two = opened();
  ASSERT_TRUE(one.admit(numbered(5)));
  ASSERT_TRUE(two.admit(numbered(6)));
  EXPECT_EQ(code(one.admit(numbered(5))), errc::stale_token);
  EXPECT_EQ(one.newest(), token{6});
}

TEST_F(floor_of_processes, a_forked_child_does_not_end_its_parents_pass) {
  auto f = opened();
  auto writing = f.enter(numbered(5));
  ASSERT_TRUE(writing);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool lost = code(f.admit(numbered(6))) == errc::lost;
    writing = errc::busy;
    ::_exit(lost ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(code(opened().admit(numbered(6))), errc::busy) << "the parent still writes";
  writing = errc::busy;
  EXPECT_TRUE(opened().admit(numbered(6)));
}

/// What `in_child` answers in a forked child of this process.
template <class F>
bool holds_in_a_child(F in_child) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(in_child() ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST_F(floor_of_processes, a_forked_child_commits_nothing_by_its_parents_pass) {
  auto f = opened();
  auto writing = f.enter(numbered(5));
  ASSERT_TRUE(writing);
  EXPECT_TRUE(holds_in_a_child([&] {
    bool ran = false;
    const auto refused = writing->commit([&] { ran = true; });
    return code(refused) == errc::lost && !ran && !writing->valid();
  }));
  EXPECT_TRUE(writing->valid());
  EXPECT_TRUE(writing->commit([] {}));
}

TEST(fence_in_memory, a_forked_child_admits_not_even_what_its_parent_has_admitted) {
  fence f;
  ASSERT_TRUE(f.admit(numbered(5)));
  ASSERT_TRUE(f.admit(numbered(5), mode::shared()));
  EXPECT_TRUE(holds_in_a_child([&] {
    return code(f.admit(numbered(5))) == errc::lost &&
           code(f.admit(numbered(5), mode::shared())) == errc::lost &&
           code(f.enter(numbered(5))) == errc::lost;
  }));
}

TEST_F(floor_of_processes, a_file_mounted_from_a_file_system_that_is_not_known_is_refused_by_name) {
  std::ofstream(path_).close();
  const std::string elsewhere = at_.path() + "/elsewhere";
  std::filesystem::create_directory(elsewhere);
  const pid_t child = ::fork();
  if (child == 0) {
    bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                   ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   ::mount("ramfs", elsewhere.c_str(), "ramfs", 0, nullptr) == 0;
    const std::string there = elsewhere + "/floors";
    std::ofstream(there).close();
    mounted = mounted && ::mount(there.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!mounted) ::_exit(99);
    const auto refused = fence::open(url_, "r");
    const bool named = !refused && refused.error().message().find("ramfs") != std::string::npos;
    ::_exit(code(refused) == errc::unsupported && named ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 99) GTEST_SKIP() << "NOT TESTED: no private mounts here";
  EXPECT_EQ(status, 0);
}

TEST_F(floor_of_processes, one_file_holds_any_number_of_resources) {
  for (std::uint64_t i = 1; i <= 30; ++i) {
    auto f = fence::open(url_, "resource " + std::to_string(i)).value();
    fencing_token t{{source.store, lock_name("lock " + std::to_string(i))}, token{i}};
    ASSERT_TRUE(f.admit(t));
  }
  for (std::uint64_t i = 1; i <= 30; ++i) {
    EXPECT_EQ(fence::open(url_, "resource " + std::to_string(i)).value().floor(), token{i});
  }
}

TEST_F(floor_of_processes, a_newer_token_waits_for_the_pass_of_another_process) {
  holder old(url_, 1, mode::exclusive());
  ASSERT_TRUE(old.entered());
  auto f = opened();
  EXPECT_EQ(code(f.enter(numbered(2), mode::exclusive(), {50ms, {}})), errc::timed_out);
  const auto refused = f.raise(token{3}, {50ms, {}});
  EXPECT_EQ(code(refused), errc::timed_out);
  for (const char* said : {"older than 3, or of newer ones", ". End the process", "fuser -v /"}) {
    EXPECT_NE(refused.error().message().find(said), std::string::npos) << refused.error().message();
  }
  old.leave();
  EXPECT_TRUE(f.enter(numbered(3), mode::exclusive(), {5s, {}}));
}

TEST_F(floor_of_processes, a_process_that_was_killed_is_not_waited_for) {
  holder old(url_, 1, mode::exclusive());
  ASSERT_TRUE(old.entered());
  auto f = opened();
  EXPECT_EQ(code(f.admit(numbered(2))), errc::busy);
  old.kill();
  EXPECT_TRUE(f.admit(numbered(2)));
}

TEST_F(floor_of_processes, a_killed_process_is_waited_for_while_what_it_forked_lives) {
  int said[2]{};
  ASSERT_EQ(::pipe(said), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto f = fence::open(url_, "r");
    const auto writing = f->enter(numbered(1));
    const pid_t forked = writing ? ::fork() : -1;
    if (forked > 0) static_cast<void>(!::write(said[1], &forked, sizeof forked));
    for (;;) ::pause();
  }
  pid_t forked{};
  ASSERT_EQ(::read(said[0], &forked, sizeof forked), static_cast<ssize_t>(sizeof forked));
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  auto f = opened();
  EXPECT_EQ(code(f.admit(numbered(2))), errc::busy);
  ::kill(forked, SIGKILL);
  EXPECT_TRUE(f.enter(numbered(3), mode::exclusive(), {30s, {}}));
  for (const int end : said) ::close(end);
}

TEST_F(floor_of_processes, shared_passes_are_together_and_keep_an_exclusive_one_out) {
  holder first(url_, 1, mode::shared());
  holder second(url_, 2, mode::shared());
  ASSERT_TRUE(first.entered() && second.entered());
  auto f = opened();
  EXPECT_TRUE(f.enter(numbered(1), mode::shared(), at_once));
  EXPECT_EQ(code(f.enter(numbered(3), mode::exclusive(), {20ms, {}})), errc::timed_out);
  first.leave();
  EXPECT_EQ(code(f.enter(numbered(3), mode::exclusive(), {20ms, {}})), errc::timed_out);
  second.leave();
  EXPECT_TRUE(f.enter(numbered(3), mode::exclusive(), {5s, {}}));
}

TEST_F(floor_of_processes, processes_with_one_token_have_passes_at_once) {
  auto older = opened();
  auto old = older.enter(numbered(1));
  ASSERT_TRUE(old);
  auto one = opened();
  auto two = opened();
  EXPECT_EQ(code(one.admit(numbered(2))), errc::busy);
  const auto met = two.admit(numbered(2));
  ASSERT_EQ(code(met), errc::busy) << "nobody has been admitted with it";
  for (const char* said : {"older than 2, or came with 2 at the same moment", "Ask again;"}) {
    EXPECT_NE(met.error().message().find(said), std::string::npos) << met.error().message();
  }
  old = errc::busy;

  auto first = std::make_optional(one.enter(numbered(2)));
  ASSERT_TRUE(*first);
  holder other(url_, 2, mode::exclusive());
  EXPECT_TRUE(other.entered());
  EXPECT_TRUE(two.admit(numbered(2)));
  auto foreign = fence::open(url_, "another resource").value();
  EXPECT_TRUE(foreign.enter(numbered(2), mode::exclusive(), at_once));

  auto newer = opened();
  EXPECT_EQ(code(newer.admit(numbered(3))), errc::busy);
  EXPECT_EQ(code(two.admit(numbered(2))), errc::stale_token);
  first.reset();
  EXPECT_EQ(code(newer.admit(numbered(3))), errc::busy) << "the other process writes";
  other.leave();
  EXPECT_TRUE(newer.enter(numbered(3), mode::exclusive(), at_once));
}

// What it knows of a token that it was admitted with says nothing about the next one.
TEST_F(floor_of_processes, a_token_that_was_admitted_elsewhere_lets_no_newer_one_pass) {
  holder first(url_, 1, mode::exclusive());
  ASSERT_TRUE(first.entered());
  auto f = opened();
  ASSERT_TRUE(f.admit(numbered(1)));
  EXPECT_EQ(code(f.admit(numbered(2))), errc::busy);
  EXPECT_EQ(code(opened().admit(numbered(2))), errc::busy);
  EXPECT_EQ(code(opened().admit(numbered(1))), errc::stale_token);
  first.kill();
  EXPECT_TRUE(f.admit(numbered(2)));
}

// The holder of an exclusive pass is seen by others until its last one has ended.
TEST_F(floor_of_processes, a_failed_arrival_leaves_the_passes_of_its_own_process_seen) {
  auto f = opened();
  auto own = f.enter(numbered(1));
  ASSERT_TRUE(own);
  holder late(url_, 2, mode::exclusive());
  EXPECT_FALSE(late.entered());
  EXPECT_EQ(code(f.admit(numbered(1))), errc::stale_token);
  holder later(url_, 3, mode::exclusive());
  EXPECT_FALSE(later.entered());
  { const pass ended = std::move(*own); }
  holder last(url_, 4, mode::exclusive());
  EXPECT_TRUE(last.entered());
}

// It has raised the floor, and somebody newer has raised it further while it waited.
TEST_F(floor_of_processes, a_waiter_learns_of_a_newer_token_of_another_process) {
  auto first = opened();
  auto second = opened();
  auto third = opened();
  auto old = first.enter(numbered(1));
  ASSERT_TRUE(old);
  std::jthread waiter([&] {
    EXPECT_EQ(code(second.enter(numbered(2), mode::exclusive(), {10s, {}})), errc::stale_token);
  });
  while (opened().newest() < token{2}) std::this_thread::yield();
  EXPECT_EQ(code(third.enter(numbered(3), mode::exclusive(), at_once)), errc::timed_out);
  { const pass ended = std::move(*old); }
}

TEST_F(floor_of_processes, bad_urls_and_places_are_refused_by_name) {
  const auto fails = [](const std::string& url, errc expected, const std::string& says) {
    const auto f = fence::open(url, "r");
    ASSERT_EQ(code(f), expected) << url;
    EXPECT_NE(f.error().message().find(says), std::string::npos) << f.error().message();
  };
  fails("local:/tmp", errc::invalid_argument, "file:PATH");
  fails("file:relative", errc::invalid_argument, "absolute");
  fails("file:" + at_.path() + "/", errc::invalid_argument, "directory");
  fails("file:" + at_.path() + "/none/fence", errc::unavailable, "/none");
  fails("file:/tmp", errc::unavailable, " /tmp");
  fails("file:/proc/fence", errc::unsupported, "proc");
  EXPECT_EQ(code(fence::open(url_, "")), errc::invalid_argument);
  EXPECT_EQ(code(fence::open(url_, "a\nb")), errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::tests
