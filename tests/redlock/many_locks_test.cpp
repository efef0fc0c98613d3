#include "core/store_url.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/open.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::redlock_tests {

namespace {

std::string name_of(std::size_t i, std::size_t length = 0) {
  std::string name = "n" + std::to_string(i);
  name.resize(std::max(name.size(), length), '.');
  return name;
}

/// Some hundred at a time.
std::vector<lock> hold(session& s, std::size_t count, std::size_t length = 0) {
  std::mutex mutex;
  std::vector<lock> held;
  std::atomic<std::size_t> waiting{};
  for (std::size_t i = 0; i < count; ++i) {
    while (waiting >= 256) std::this_thread::sleep_for(50us);
    ++waiting;
    s.acquire(lock_name(name_of(i, length)), {.wait = 20s}, [&](result<lock> l) {
      {
        const std::lock_guard alone(mutex);
        if (l) held.push_back(std::move(*l));
      }
      --waiting;
    });
  }
  while (waiting > 0) std::this_thread::sleep_for(50us);
  return held;
}

/// Fault matrix: a session with 20,000 locks is closed while no node answers | all are released
TEST(redlock_many_locks, a_session_that_closes_waits_for_all_its_releases) {
  five_nodes nodes(3);
  nodes.init();
  session s = nodes.open("ttl=60s&node_timeout=1s");
  const auto held = hold(s, 20'000);
  ASSERT_EQ(held.size(), 20'000U);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes.stop(i);
  std::thread later([&] {
    std::this_thread::sleep_for(1200ms);
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes.resume(i);
  });
  const auto closed = s.close();
  later.join();
  EXPECT_TRUE(closed) << closed.error().message();
  EXPECT_TRUE(nodes.comes_to("n0", 0));
  EXPECT_TRUE(nodes.comes_to("n19999", 0));
}

/// Fault matrix: a client with 20,000 locks ends while a node is slow, and the connection to it
/// cannot take all releases at once | nothing of them is left there
TEST(redlock_many_locks, a_client_that_ends_leaves_nothing_on_a_node_that_is_slow) {
  constexpr std::size_t count = 20'000;
  constexpr std::size_t long_name = 250;
  five_nodes nodes(3);
  nodes.init();
  {
    session s = nodes.open("ttl=60s&node_timeout=10s");
    const auto held = hold(s, count, long_name);
    ASSERT_EQ(held.size(), count);
    nodes.stop(2);
    ASSERT_TRUE(succeeded(s.close()));
    nodes.resume(2);
  }
  std::vector<std::string> exists{"EXISTS"};
  for (std::size_t i = 0; i < count; ++i) exists.push_back(name_of(i, long_name));
  EXPECT_EQ(nodes[2].command(exists), redis_tests::integer(0));
}

TEST(redlock_many_locks, extensions_leave_room_for_other_commands) {
  five_nodes nodes(1);
  nodes.init();
  const std::string how = "ttl=60s&node_timeout=1s";
  session s = nodes.open(how);
  const auto held = hold(s, 10'000);
  ASSERT_EQ(held.size(), 10'000U);
  const auto opened =
      engines::redlock::open_redlock(*core::store_url::parse(nodes.url(how))).value();
  const auto inside = dynamic_cast<engines::redlock::redlock_engine&>(*opened.engine).nodes();
  const auto before = inside->count(0).commands;
  core::beat_request r;
  r.id = s.id();
  r.inc = 1;
  r.attempt = 1'000'000;
  opened.engine->beat(r, [](const core::beat_reply&) {});
  std::size_t most = 0;
  while (inside->count(0).commands < before + 10'000 / 100) {
    most = std::max(most, inside->count(0).unanswered);
    std::this_thread::sleep_for(100us);
  }
  EXPECT_LT(most, 50U);
  for (const lock& l : held) EXPECT_TRUE(succeeded(l.check()));
  EXPECT_TRUE(s.close());
}

}  // namespace

}  // namespace holdfast::redlock_tests
