#include <holdfast/fence.hpp>
#include <holdfast/fenced_log.hpp>
#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include "client/outcome_fixture.hpp"
#include "core/sanitizer.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;

/// A process that holds the lock "x" until it is killed.
class holder {
 public:
  holder(const std::string& url, duration ttl, mode how = mode::exclusive()) {
    int ready[2]{};
    if (::pipe(ready) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      auto s = open(url, {.ttl = ttl, .program = "holder"});
      auto held = s ? s->acquire(lock_name("x"), {.mode = how}) : result<lock>(s.error());
      const char sign = held ? 'y' : 'n';
      if (::write(ready[1], &sign, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char sign{};
    holds_ = ::read(ready[0], &sign, 1) == 1 && sign == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;
  ~holder() { end(); }

  bool holds() const { return holds_; }
  void send(int signal) const { ::kill(pid_, signal); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_{-1};
  bool holds_{};
};

struct takeovers : observer {
  void on(const event::took_over& e) noexcept override { ++(e.broken ? broken : silent); }
  std::atomic<int> broken{};
  std::atomic<int> silent{};
};

class local : public ::testing::Test {
 protected:
  local() {
#if HOLDFAST_UNDER_TSAN
    skip_ = true;  // It does not support new threads in a forked child.
#endif
    std::string pattern = ::testing::TempDir() + "client-local-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    url_ = "local:" + directory_ + "/store";
    ::setenv("XDG_STATE_HOME", (directory_ + "/state").c_str(), 1);
  }
  ~local() override {
    ::unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(directory_);
  }
  void SetUp() override {
    if (skip_) GTEST_SKIP() << "forks";
  }

  /// Whether a holder that hangs is taken over by one of many waits, each with a store of its own.
  bool is_taken_over_by_short_waits() const {
    holder hung(url_, 1s);
    EXPECT_TRUE(hung.holds());
    hung.send(SIGSTOP);
    for (int i = 0; i < 20; ++i) {
      if (open(url_)->acquire(lock_name("x"), {.wait = 300ms}).has_value()) return true;
    }
    return false;
  }

  bool skip_{};
  std::string directory_;
  std::string url_;
};

TEST_F(local, a_try_breaks_a_dead_holder_at_once) {
  holder dead(url_, 30s);
  ASSERT_TRUE(dead.holds());
  const auto watcher = std::make_shared<takeovers>();
  auto s = open(url_, {.observer = watcher});
  ASSERT_TRUE(s) << s.error().message();
  const auto refused = s->try_acquire(lock_name("x"));
  ASSERT_EQ(code(refused), errc::busy);
  EXPECT_NE(refused.error().message().find("holder"), std::string::npos);
  dead.end();
  EXPECT_TRUE(s->try_acquire(lock_name("x")));
  EXPECT_EQ(watcher->broken, 1);
}

TEST_F(local, a_waiter_has_the_lock_of_a_killed_holder_in_no_time) {
  // A busy machine may wake somebody late, but not every time.
  duration fastest = duration::max();
  for (int round = 0; round < 20 && fastest > 100ms; ++round) {
    holder dying(url_, 1h);
    ASSERT_TRUE(dying.holds());
    auto s = open(url_);
    ASSERT_TRUE(s);
    time_point killed{};
    std::jthread later([&] {
      std::this_thread::sleep_for(50ms);
      killed = clock::now();
      dying.end();
    });
    auto got = s->acquire(lock_name("x"), {.wait = 60s});
    const auto now = clock::now();
    later.join();
    ASSERT_TRUE(got) << got.error().message();
    fastest = std::min(fastest, now - killed);
  }
  EXPECT_LT(fastest, 100ms) << "found by the poll";
}

TEST_F(local, the_next_try_after_the_ttl_takes_over_a_holder_that_hangs) {
  constexpr duration ttl = 1500ms;
  holder hung(url_, ttl);
  ASSERT_TRUE(hung.holds());
  hung.send(SIGSTOP);
  const auto before = clock::now();
  EXPECT_EQ(code(open(url_)->try_acquire(lock_name("x"))), errc::busy);
  const auto seen = clock::now();
  std::this_thread::sleep_for(ttl / 2);
  const auto second = code(open(url_)->try_acquire(lock_name("x")));
  const bool too_early = clock::now() < before + ttl;
  EXPECT_TRUE(second == errc::busy || !too_early);
  // Some hundredths more, for the drift of the clocks.
  std::this_thread::sleep_for(seen + ttl * 11 / 10 - clock::now());
  const auto watcher = std::make_shared<takeovers>();
  auto s = open(url_, {.observer = watcher});
  ASSERT_TRUE(s);
  EXPECT_TRUE(s->try_acquire(lock_name("x"))) << "what the first try saw was forgotten";
  // On a machine that stood still the second try came behind the ttl, and took it over.
  EXPECT_EQ(watcher->silent, second == errc::busy ? 1 : 0);
}

TEST_F(local, waits_that_are_shorter_than_the_ttl_take_over_a_holder_that_hangs) {
  EXPECT_TRUE(is_taken_over_by_short_waits()) << "each began to count anew";
}

TEST_F(local, waits_of_one_process_take_over_a_holder_that_hangs_where_no_note_can_be_kept) {
  ::setenv("XDG_STATE_HOME", "/dev/null/state", 1);
  EXPECT_TRUE(is_taken_over_by_short_waits()) << "each began to count anew";
}

TEST_F(local, a_dead_holder_of_another_mode_is_in_nobodys_way) {
  holder first(url_, 30s, mode::permits(2));
  holder second(url_, 30s, mode::permits(2));
  ASSERT_TRUE(first.holds() && second.holds());
  auto s = open(url_);
  ASSERT_TRUE(s) << s.error().message();
  first.end();
  const auto refused = s->acquire(lock_name("x"), {.wait = 60s});
  ASSERT_EQ(code(refused), errc::mode_conflict) << "one of them lives";
  EXPECT_NE(refused.error().message().find("used as permits(2), not exclusive"), std::string::npos)
      << refused.error().message();
  second.end();
  EXPECT_TRUE(s->acquire(lock_name("x"), {.wait = 60s}));
}

TEST_F(local, the_next_try_after_the_ttl_takes_over_who_hangs_in_another_mode) {
  holder hung(url_, 1500ms, mode::permits(2));
  ASSERT_TRUE(hung.holds());
  hung.send(SIGSTOP);
  const auto refused = open(url_)->try_acquire(lock_name("x"));
  ASSERT_EQ(code(refused), errc::mode_conflict);
  EXPECT_NE(refused.error().message().find("takes it over"), std::string::npos)
      << refused.error().message();
  std::this_thread::sleep_for(1650ms);
  EXPECT_TRUE(open(url_)->try_acquire(lock_name("x"))) << "what the first try saw was forgotten";
}

TEST_F(local, a_deny_leaves_a_note_for_the_next_try) {
  holder hung(url_, 1500ms);
  ASSERT_TRUE(hung.holds());
  hung.send(SIGSTOP);
  {
    auto ops = store::open(url_);
    const auto seen = ops->list();
    ASSERT_TRUE(seen);
    ASSERT_EQ(seen->sessions.size(), 1U);
    EXPECT_EQ(seen->sessions[0].life, life::alive);
    ASSERT_TRUE(ops->deny(seen->sessions[0].id, "me", "it hangs"));
  }
  std::this_thread::sleep_for(1650ms);
  EXPECT_TRUE(open(url_)->try_acquire(lock_name("x")));
}

TEST_F(local, breaks_only_what_is_provably_dead_and_says_why_not) {
  holder one(url_, 30s);
  ASSERT_TRUE(one.holds());
  auto ops = store::open(url_);
  ASSERT_TRUE(ops);
  const auto seen = ops->list();
  ASSERT_TRUE(seen);
  const auto id = seen->sessions.at(0).id;
  const auto refused = ops->break_session(id);
  ASSERT_EQ(code(refused), errc::busy);
  EXPECT_NE(refused.error().message().find("is alive"), std::string::npos);
  one.end();
  EXPECT_EQ(ops->list()->sessions.at(0).life, life::dead);
  EXPECT_TRUE(ops->break_session(id));
  EXPECT_TRUE(ops->list()->sessions.empty());
  EXPECT_EQ(code(ops->break_session(id)), errc::invalid_argument);
}

TEST_F(local, a_closed_session_leaves_no_life_file) {
  {
    auto s = open(url_);
    ASSERT_TRUE(s);
    EXPECT_GE(s->life_descriptor(), 0);
    EXPECT_TRUE(s->close());
    EXPECT_EQ(s->life_descriptor(), -1);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_ + "/store/life"));
}

/// What a program that this process starts has open, too.
std::set<std::string> inheritable() {
  std::set<std::string> all;
  std::error_code gone;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd", gone)) {
    const int flags = ::fcntl(std::stoi(one.path().filename().string()), F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) {
      all.insert(one.path().filename().string() + " " +
                 std::filesystem::read_symlink(one.path(), gone).string());
    }
  }
  return all;
}

TEST_F(local, nothing_that_it_opens_is_for_a_program_that_is_started) {
  const auto before = inheritable();
  for (const std::string& url : {url_, std::string("memory:descriptors")}) {
    auto s = open(url).value();
    const auto held = s.acquire(lock_name("x")).value();
    auto waiting = open(url).value();
    waiting.acquire(lock_name("x"), {.wait = 1h}, [](const result<lock>&) {});
    EXPECT_TRUE(store::open(url).value().list());
    auto gate = fence::open("file:" + directory_ + "/fence", url).value();
    EXPECT_TRUE(gate.enter(held.fencing_token().value()));
    auto log = fenced_log::open(directory_ + "/log" + std::to_string(url.size()),
                                held.fencing_token().value());
    EXPECT_TRUE(log) << log.error().message();
    EXPECT_EQ(inheritable(), before) << url;
  }
}

}  // namespace
}  // namespace holdfast
