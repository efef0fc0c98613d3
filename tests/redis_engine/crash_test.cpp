#include "tests/process/child.hpp"
#include "tests/redis_engine/store.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

/// Holders in processes of their own while the server restarts; tests/process has their crashes.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using process::child;

class crash : public store_test {
 protected:
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
};

TEST_F(crash, a_holder_outlives_a_restart_of_a_server_that_syncs_every_write) {
  server s({.append_only = true, .fsync = "always"});
  child one = child::fork([&] {
    auto mine = join(url(s), 10s);
    auto l = mine.acquire(lock_name("a"), {.wait = 60s});
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
    auto l = mine.acquire(lock_name("a"), {.wait = 60s});
    if (!l) return 2;
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
