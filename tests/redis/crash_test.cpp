#include "tests/process/child.hpp"
#include "tests/redis/store.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

/// Holders in processes of their own while the server restarts; tests/process has their crashes.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using process::child;

class crash : public store_test {
 protected:
  static session join(const std::string& url, duration ttl) {
    auto opened = holdfast::open(url, {.ttl = ttl});
    // A disk that is busy may take longer than a node timeout for the sync of one write.
    process::eventually([&] {
      if (!opened) opened = holdfast::open(url, {.ttl = ttl});
      return opened.has_value();
    });
    if (!opened) throw std::runtime_error(opened.error().message());
    return std::move(*opened);
  }
  /// The holder itself says that it was told: the server knows before, and may be killed between.
  static void say_held(const server& s) { std::ofstream(s.directory() + "/told") << "held"; }
  static bool was_told(const server& s) {
    return process::eventually([&] { return std::filesystem::exists(s.directory() + "/told"); });
  }
};

TEST_F(crash, a_holder_outlives_a_restart_of_a_server_that_syncs_every_write) {
  server s({.append_only = true, .fsync = "always"});
  const std::string restarted = s.directory() + "/restarted";
  child one = child::fork([&] {
    auto mine = join(url(s), 5min);
    auto l = mine.acquire(lock_name("a"), {.wait = 60s});
    if (!l) return 2;
    say_held(s);
    process::eventually([&] { return std::filesystem::exists(restarted); });
    // The store answers again, and it remembers.
    const bool busy = process::eventually([&] {
      auto other = holdfast::open(url(s), {.ttl = 5min});
      if (!other) return false;
      const auto refused = other->try_acquire(lock_name("a"));
      return !refused && refused.error() == errc::busy;
    });
    return busy && l->check() && std::move(*l).release() && mine.close() ? 0 : 3;
  });
  ASSERT_TRUE(was_told(s));
  s.kill();
  s.start();
  std::ofstream(restarted) << "again";
  EXPECT_EQ(one.wait(5min), 0);
}

TEST_F(crash, a_holder_stops_when_the_server_comes_back_empty) {
  server s;
  child one = child::fork([&] {
    std::optional<session> mine;
    std::optional<lock> l;
    // On a busy machine a lease of a second may be over before anybody knows of it.
    const bool held = process::eventually([&] {
      auto opened = holdfast::open(url(s), {.ttl = 1s});
      if (!opened) return false;
      auto got = opened->acquire(lock_name("a"), {.wait = 60s});
      if (!got) return false;
      mine.emplace(std::move(*opened));
      l.emplace(std::move(*got));
      return true;
    });
    if (!held) return 2;
    say_held(s);
    return process::eventually([&] { return !l->check().has_value(); }) ? 0 : 3;
  });
  ASSERT_TRUE(was_told(s));
  s.kill();
  s.start(server::data::wipe);
  EXPECT_EQ(one.wait(), 0);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
