#include "io/thread/recycled.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <unordered_map>
#include <vector>

namespace holdfast::io {
namespace {

void* fresh(std::size_t bytes) { return ::operator new(block_cache::size_of(bytes)); }

TEST(block_cache, gives_the_last_block_of_a_size_first) {
  block_cache cache;
  void* const first = fresh(100);
  void* const second = fresh(100);
  ASSERT_TRUE(cache.keep(first, 100));
  ASSERT_TRUE(cache.keep(second, 97));
  EXPECT_EQ(cache.kept(), 2 * block_cache::size_of(100));
  EXPECT_EQ(cache.take(128), second);
  EXPECT_EQ(cache.take(100), first);
  EXPECT_EQ(cache.take(100), nullptr);
  EXPECT_EQ(cache.kept(), 0U);
  ::operator delete(first);
  ::operator delete(second);
}

TEST(block_cache, keeps_sizes_apart) {
  block_cache cache;
  ASSERT_TRUE(cache.keep(fresh(32), 32));
  EXPECT_EQ(cache.take(33), nullptr);
  EXPECT_EQ(cache.take(block_cache::largest), nullptr);
  void* const large = fresh(block_cache::largest);
  ASSERT_TRUE(cache.keep(large, block_cache::largest));
  EXPECT_EQ(cache.take(block_cache::largest), large);
  ::operator delete(large);
}

TEST(block_cache, keeps_no_more_than_its_limit) {
  block_cache cache;
  for (std::size_t kept = 0; kept < block_cache::kept_max; kept += 1024) {
    ASSERT_TRUE(cache.keep(fresh(1024), 1024));
  }
  void* const more = fresh(1);
  EXPECT_FALSE(cache.keep(more, 1));
  ::operator delete(more);
}

struct counted {
  explicit counted(int& to) : count(to) { ++count; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --count; }
  int& count;
};

TEST(recycled, objects_are_made_and_ended_as_any_other) {
  int living = 0;
  {
    std::vector<std::shared_ptr<counted>> all;
    for (int i = 0; i < 100; ++i) all.push_back(make_recycled<counted>(living));
    EXPECT_EQ(living, 100);
    all.resize(50);
    EXPECT_EQ(living, 50);
    for (int i = 0; i < 50; ++i) all.push_back(make_recycled<counted>(living));
  }
  EXPECT_EQ(living, 0);
}

TEST(recycled, a_block_may_end_on_another_thread) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) {
    blocks.push_back(take_block(64));
    std::memset(blocks.back(), i, 64);
  }
  int overwritten = 0;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) {
      void* const b = blocks[static_cast<std::size_t>(i)];
      if (*static_cast<unsigned char*>(b) != i % 256) ++overwritten;
      let_go_of_block(b, 64);
    }
  }).join();
  EXPECT_EQ(overwritten, 0);
}

/// Made before the thread's cache, and so ended after it.
struct ends_late {
  ends_late() = default;
  ends_late(const ends_late&) = delete;
  ends_late& operator=(const ends_late&) = delete;
  ~ends_late() {
    let_go_of_block(held, 64);
    void* const another = take_block(64);
    *could_take = another != nullptr;
    let_go_of_block(another, 64);
  }
  void* held{};
  bool* could_take{};
};

TEST(recycled, works_behind_the_end_of_the_threads_cache) {
  bool could_take = false;
  std::thread([&] {
    thread_local ends_late late;
    late.could_take = &could_take;
    late.held = take_block(64);
  }).join();
  EXPECT_TRUE(could_take);
}

TEST(recycled, containers_may_ask_for_more_than_a_block) {
  std::unordered_map<int, int, std::hash<int>, std::equal_to<>,
                     recycling<std::pair<const int, int>>>
      map;
  for (int i = 0; i < 10'000; ++i) map[i] = i;
  for (int i = 0; i < 10'000; i += 2) map.erase(i);
  EXPECT_EQ(map.size(), 5000U);
  EXPECT_EQ(map.at(4999), 4999);
}

}  // namespace
}  // namespace holdfast::io
