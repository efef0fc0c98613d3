#include "tests/process/child.hpp"
#include "tests/redis_engine/store.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

/// The whole client on one master: what a crash, a hang and a restart of the server cost.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using process::child;

class crash : public store_test {
 protected:
  /// Takes "a" with this ttl and sleeps until it is killed.
  static child holder(const std::string& url, duration ttl) {
    return child::fork([&] {
      auto mine = join(url, ttl);
      auto l = mine.acquire(lock_name("a"), {.wait = 20s});
      if (!l) return 2;
      std::this_thread::sleep_for(1h);
      return 0;
    });
  }
  static session join(const std::string& url, duration ttl) {
    auto opened = holdfast::open(url, {.ttl = ttl});
    if (!opened) throw std::runtime_error(opened.error().message());
    return std::move(*opened);
  }
  /// The holder itself says that it was told: the server knows before, and may be killed between.
  static void say_held(const server& s) { std::ofstream(s.directory() + "/told") << "held"; }
  static bool was_told(const server& s) {
    return process::eventually([&] { return std::filesystem::exists(s.directory() + "/told"); });
  }
  static bool is_held(server& s) {
    return !s.command({"KEYS", "holdfast:*:held:*"}).elements.empty();
  }
};

TEST_F(crash, a_killed_holder_on_this_host_is_followed_at_once) {
  server s;
  for (int round = 0; round < 5; ++round) {
    child dying = holder(url(s), 60s);
    ASSERT_TRUE(process::eventually([&] { return is_held(s); }));
    child next = child::fork([&] {
      auto mine = join(url(s), 60s);
      auto l = mine.acquire(lock_name("a"), {.wait = 20s});
      return l && std::move(*l).release() && mine.close() ? 0 : 3;
    });
    ASSERT_TRUE(process::eventually([&] {
      return !s.command({"KEYS", "holdfast:*:waiting:*"}).elements.empty();
    }));
    dying.signal(SIGKILL);
    const auto killed = std::chrono::steady_clock::now();
    EXPECT_EQ(next.wait(), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - killed, 2s);
  }
}

TEST_F(crash, a_try_after_the_crash_takes_the_lock_over_too) {
  server s;
  {
    child dying = holder(url(s), 60s);
    ASSERT_TRUE(process::eventually([&] { return is_held(s); }));
    dying.signal(SIGKILL);
    dying.wait();
  }
  child next = child::fork([&] {
    auto mine = join(url(s), 60s);
    return mine.try_acquire(lock_name("a")) ? 0 : 3;
  });
  EXPECT_EQ(next.wait(), 0);
}

TEST_F(crash, a_stopped_holder_is_followed_when_its_ttl_has_passed_and_no_sooner) {
  server s;
  child hung = holder(url(s), 1s);
  ASSERT_TRUE(process::eventually([&] { return is_held(s); }));
  hung.signal(SIGSTOP);
  const auto stopped = std::chrono::steady_clock::now();
  child next = child::fork([&] {
    auto mine = join(url(s), 1s);
    auto l = mine.acquire(lock_name("a"), {.wait = 20s});
    return l && std::move(*l).release() && mine.close() ? 0 : 3;
  });
  EXPECT_EQ(next.wait(), 0);
  EXPECT_GT(std::chrono::steady_clock::now() - stopped, 1s);
  EXPECT_LT(std::chrono::steady_clock::now() - stopped, 4s);
}

TEST_F(crash, a_holder_outlives_a_restart_of_a_server_that_syncs_every_write) {
  server s({.append_only = true, .fsync = "always"});
  child one = child::fork([&] {
    auto mine = join(url(s), 10s);
    auto l = mine.acquire(lock_name("a"), {.wait = 5s});
    if (!l) return 2;
    say_held(s);
    std::this_thread::sleep_for(2s);
    return l->check() && std::move(*l).release() && mine.close() ? 0 : 3;
  });
  ASSERT_TRUE(was_told(s));
  s.kill();
  s.start();
  EXPECT_EQ(one.wait(), 0);
}

TEST_F(crash, a_holder_stops_when_the_server_comes_back_empty) {
  server s;
  child one = child::fork([&] {
    auto mine = join(url(s), 1s);
    auto l = mine.acquire(lock_name("a"), {.wait = 5s});
    if (!l) return 2;
    say_held(s);
    return process::eventually([&] { return !l->check().has_value(); }, 5s) ? 0 : 3;
  });
  ASSERT_TRUE(was_told(s));
  s.kill();
  s.start(server::data::wipe);
  EXPECT_EQ(one.wait(), 0);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
