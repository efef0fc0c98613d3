#include "client/engines_fixture.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"
#include "io/file/unique_fd.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::client {
namespace {

using namespace std::chrono_literals;

/// Counts how often a file was opened.
class openings {
 public:
  explicit openings(const std::string& path) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    // The kernel joins events that are alike; a file that was opened is closed in between.
    EXPECT_GE(::inotify_add_watch(events_.get(), path.c_str(), IN_OPEN | IN_CLOSE), 0);
  }
  int since_last() {
    int opened = 0;
    for (;;) {
      alignas(inotify_event) std::array<char, 64 * 1024> events{};
      const auto size = ::read(events_.get(), events.data(), events.size());
      if (size <= 0) return opened;
      for (std::ptrdiff_t at = 0; at < size;) {
        const auto* one = reinterpret_cast<const inotify_event*>(events.data() + at);
        if ((one->mask & IN_OPEN) != 0) ++opened;
        at += static_cast<std::ptrdiff_t>(sizeof(inotify_event) + one->len);
      }
    }
  }

 private:
  io::unique_fd events_;
};

TEST(shared_looks, many_waiters_behind_one_session_look_at_it_as_often_as_one) {
  constexpr int waiters = 200;
  const tests::temporary_directory lives;
  auto opened = testing::memory("shared_looks");
  opened.life_directory = lives.path();
  const auto store = store_core::on(opened, 30s, 1h);
  auto holder = session_core::make_session(session_core::open(store, {}).value());
  auto waiting = session_core::make_session(session_core::open(store, {}).value());
  openings looks(lives.path() + "/" + holder.id().str());
  std::vector<lock> held;
  std::atomic<int> ended{};
  for (int n = 0; n < waiters; ++n) {
    const lock_name name("n" + std::to_string(n));
    held.push_back(holder.try_acquire(name).value());
    waiting.acquire(name, {.wait = 60s}, [&](const result<lock>&) { ++ended; });
  }
  EXPECT_GE(looks.since_last(), waiters) << "who arrives does not believe what others saw";
  const auto began = clock::now();
  std::this_thread::sleep_for(2s);  // Each looks by itself eight times.
  const int looked = looks.since_last();
  const duration passed = clock::now() - began;
  // Who has just read the store, every four seconds, looks itself.
  const auto reads = waiters * (passed * 1.0 / 4s + 1);
  EXPECT_GE(looked, 1);
  EXPECT_LE(looked, reads + passed / 100ms + 1);
  EXPECT_EQ(ended, 0);
  held.clear();
  EXPECT_TRUE(testing::eventually([&] { return ended == waiters; }));
}

}  // namespace
}  // namespace holdfast::client
