#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include "client/outcome_fixture.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

/// Several names at once, with a wait: all of them or none.

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;

class acquire_all : public testing::Test {
 protected:
  session join() const {
    auto s = open(url_);
    if (!s) ADD_FAILURE() << s.error().message();
    return std::move(*s);
  }
  /// Blocks until somebody waits for `name`.
  void await_waiter(const std::string& name) const {
    auto ops = store::open(url_);
    ASSERT_TRUE(ops);
    const auto end = clock::now() + 30s;
    while (clock::now() < end) {
      const auto all = ops->list();
      ASSERT_TRUE(all);
      for (const lock_info& l : all->locks) {
        if (l.name.str() != name) continue;
        for (const entry_info& e : l.entries) {
          if (!e.granted) return;
        }
      }
      std::this_thread::sleep_for(1ms);
    }
    FAIL() << "nobody waits for " << name;
  }
  static std::vector<lock_name> names(std::initializer_list<const char*> all) {
    return {all.begin(), all.end()};
  }

 private:
  static std::string fresh_url() {
    static std::atomic<int> n{};
    return "memory:acquire_all_test_" + std::to_string(++n);
  }
  const std::string url_ = fresh_url();
};

TEST_F(acquire_all, is_granted_when_the_one_in_the_way_has_left) {
  auto a = join();
  auto b = join();
  auto in_the_way = b.acquire(lock_name("m"));
  ASSERT_TRUE(in_the_way);
  result<std::vector<lock>> all = error(errc::busy, "not asked yet");
  std::jthread asking([&] { all = a.acquire_all(names({"z", "m", "a"}), {.wait = 60s}); });
  await_waiter("m");
  EXPECT_EQ(code(b.try_acquire(lock_name("a"))), errc::busy) << "taken in byte order";
  auto z = b.try_acquire(lock_name("z"));
  ASSERT_TRUE(z) << "what comes behind the one it waits for is not taken yet";
  EXPECT_TRUE(std::move(*in_the_way).release());
  await_waiter("z");
  EXPECT_TRUE(std::move(*z).release());
  asking.join();
  ASSERT_TRUE(all) << all.error().message();
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].name().str(), "z");
  EXPECT_EQ((*all)[1].name().str(), "m");
  EXPECT_EQ((*all)[2].name().str(), "a");
  for (const lock& one : *all) EXPECT_TRUE(one.check());
}

TEST_F(acquire_all, holds_nothing_after_its_wait_ran_out) {
  auto a = join();
  auto b = join();
  auto in_the_way = b.acquire(lock_name("m"));
  ASSERT_TRUE(in_the_way);
  const auto began = clock::now();
  const auto all = a.acquire_all(names({"z", "m", "a"}), {.wait = 100ms});
  const auto took = clock::now() - began;
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error(), errc::timed_out) << all.error().message();
  EXPECT_NE(all.error().message().find("m"), std::string::npos);
  EXPECT_GE(took, 100ms);
  for (const char* name : {"a", "z"}) EXPECT_TRUE(b.try_acquire(lock_name(name))) << name;
  EXPECT_TRUE(std::move(*in_the_way).release());
  EXPECT_TRUE(b.try_acquire(lock_name("m"))) << "its entry stayed in the queue";
}

TEST_F(acquire_all, has_one_wait_for_all_of_them_together) {
  auto a = join();
  auto b = join();
  auto first = b.acquire(lock_name("a"));
  auto second = b.acquire(lock_name("b"));
  ASSERT_TRUE(first && second);
  const auto began = clock::now();
  result<std::vector<lock>> all = error(errc::busy, "not asked yet");
  std::jthread asking([&] { all = a.acquire_all(names({"a", "b"}), {.wait = 4s}); });
  await_waiter("a");
  std::this_thread::sleep_for(began + 3s - clock::now());
  EXPECT_TRUE(std::move(*first).release());
  asking.join();
  const auto took = clock::now() - began;
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error(), errc::timed_out) << all.error().message();
  // With a wait of its own the second name would have taken until 7 s.
  EXPECT_LT(took, 6900ms);
  EXPECT_TRUE(b.try_acquire(lock_name("a")));
}

TEST_F(acquire_all, is_cancelled_as_a_whole) {
  auto a = join();
  auto b = join();
  const auto in_the_way = b.acquire(lock_name("m"));
  ASSERT_TRUE(in_the_way);
  std::stop_source stop;
  result<std::vector<lock>> all = error(errc::busy, "not asked yet");
  std::jthread asking([&] {
    all = a.acquire_all(names({"m", "a"}), {.wait = forever, .stop = stop.get_token()});
  });
  await_waiter("m");
  stop.request_stop();
  asking.join();
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error(), errc::cancelled) << all.error().message();
  EXPECT_TRUE(b.try_acquire(lock_name("a")));
}

TEST_F(acquire_all, callers_in_opposite_order_never_block_each_other_for_good) {
  std::atomic<int> inside{};
  std::atomic<int> done{};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto s = join();
      for (int i = 0; i < 25; ++i) {
        const auto all = s.acquire_all(t % 2 == 0 ? names({"a", "b", "c"}) : names({"c", "b", "a"}),
                                       {.wait = 60s});
        ASSERT_TRUE(all) << all.error().message();
        EXPECT_EQ(++inside, 1);
        --inside;
        ++done;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace holdfast
