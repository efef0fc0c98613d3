#include "tests/process/child.hpp"
#include "tests/zookeeper/engine_fixture.hpp"

#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

/// The whole client: what a crash, and a server that is cut off with its client, cost.

namespace holdfast::zookeeper_tests {
namespace {

using process::child;

/// A busy machine may keep a healthy server from answering within a short node timeout.
session join_store(const std::string& url, duration ttl) {
  auto opened = holdfast::open(url, {.ttl = ttl});
  for (int tries = 0; tries < 30 && !opened; ++tries) opened = holdfast::open(url, {.ttl = ttl});
  if (!opened) throw std::runtime_error(opened.error().message());
  return std::move(*opened);
}

class zookeeper_takeover : public testing::Test {
 protected:
  zookeeper_takeover() {
    ::setenv("HOLDFAST_RUN_DIRECTORY", (directory_.path() + "/run").c_str(), 1);
  }

  /// The holder knows of one server only, which fails; somebody else waits at the other two.
  static void expect_handed_over(servers& s, std::size_t pinned, const std::function<void()>& fail,
                                 const std::function<void()>& heal);

 private:
  tests::temporary_directory directory_;
};

void zookeeper_takeover::expect_handed_over(servers& s, std::size_t pinned,
                                            const std::function<void()>& fail,
                                            const std::function<void()>& heal) {
  std::string others;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (i != pinned) others.append(others.empty() ? "" : ",").append(s.at(i).address());
  }
  auto old = join_store("zookeeper://" + s.at(pinned).address() + "/t?node_timeout=1s", 3s);
  auto held = old.acquire(lock_name("a"), {.wait = 60s});
  ASSERT_TRUE(held) << held.error().message();
  auto waiting = join_store("zookeeper://" + others + "/t?node_timeout=2s", 1h);
  fail();
  bool still_held = true;
  std::promise<result<lock>> promised;
  // On the thread that tells it, before the caller can know.
  waiting.acquire(lock_name("a"), {.wait = 120s}, [&](result<lock> l) {
    still_held = held->check().has_value();
    promised.set_value(std::move(l));
  });
  auto next = promised.get_future().get();
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_FALSE(still_held) << "two hold";
  EXPECT_GT(next->token().value, held->token().value);
  heal();
  EXPECT_FALSE(held->check()) << "lost is final";
  EXPECT_TRUE(next->check()) << "the old holder's return changes nothing";
  EXPECT_TRUE(std::move(*next).release());
  EXPECT_TRUE(waiting.close());
}

TEST_F(zookeeper_takeover, a_killed_holder_on_this_host_is_followed_at_once) {
  servers s;
  const auto url = s.url() + "?node_timeout=10s";
  for (int round = 0; round < process::rounds(3, 50); ++round) {
    const tests::temporary_directory directory;
    const auto said = [&](const char* what) { return directory.path() + "/" + what; };
    child dying = child::fork([&] {
      auto mine = join_store(url, 1h);
      auto l = mine.acquire(lock_name("a"), {.wait = 60s});
      if (!l) return 2;
      std::ofstream(said("held")) << "held";
      std::this_thread::sleep_for(1h);
      return 0;
    });
    ASSERT_TRUE(process::eventually([&] { return std::filesystem::exists(said("held")); }, 60s));
    child next = child::fork([&] {
      auto mine = join_store(url, 1h);
      std::ofstream(said("waits")) << "waits";
      auto l = mine.acquire(lock_name("a"), {.wait = 60s});
      return l && std::move(*l).release() && mine.close() ? 0 : 3;
    });
    ASSERT_TRUE(process::eventually([&] { return std::filesystem::exists(said("waits")); }, 60s));
    dying.signal(SIGKILL);
    // The ttl is an hour: only the proof of its death can free the lock.
    EXPECT_EQ(next.wait(90s), 0);
  }
}

TEST_F(zookeeper_takeover, a_holder_whose_server_stands_still_is_over_before_the_next_one_begins) {
  for (int round = 0; round < process::rounds(1, 10); ++round) {
    servers s(3);
    const auto stopped = s.leader() == 0 ? std::size_t{1} : std::size_t{0};
    expect_handed_over(
        s, stopped, [&] { s.at(stopped).stop(); }, [&] { s.at(stopped).resume(); });
  }
}

/// The case in which ZooKeeper's own sessions are acknowledged after others have seen them end: the
/// follower answers pings until it notices, which takes it 10 s here.
TEST_F(zookeeper_takeover, a_holder_at_a_follower_that_is_cut_off_is_over_before_the_next_begins) {
  for (int round = 0; round < process::rounds(1, 10); ++round) {
    const auto s = servers::with_follower();
    expect_handed_over(
        *s, 2, [&] { s->cut_off_last(true); }, [&] { s->cut_off_last(false); });
  }
}

TEST_F(zookeeper_takeover, nothing_is_written_to_the_standard_streams) {
  servers s;
  const tests::temporary_directory directory;
  child quiet = child::fork([&] {
    const auto path = directory.path() + "/said";
    if (std::freopen(path.c_str(), "w", stderr) == nullptr) return 2;
    if (std::freopen(path.c_str(), "a", stdout) == nullptr) return 2;
    {
      auto mine = join_store(s.url() + "?node_timeout=10s", 30s);
      auto l = mine.acquire(lock_name("a"), {.wait = 60s});
      if (!l || !std::move(*l).release() || !mine.close()) return 3;
    }
    return holdfast::open("zookeeper://127.0.0.1:1/t?node_timeout=100ms", {}) ? 4 : 0;
  });
  EXPECT_EQ(quiet.wait(), 0);
  EXPECT_EQ(std::filesystem::file_size(directory.path() + "/said"), 0U);
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
