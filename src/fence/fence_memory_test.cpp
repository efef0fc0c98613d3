#include "tests/temporary_directory.hpp"

#include <holdfast/fence.hpp>
#include <holdfast/fenced_log.hpp>
#include <holdfast/log_reader.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

// Of this whole program: how many allocations of this thread succeed yet, and how large one may be.
thread_local std::size_t allocations_left = SIZE_MAX;
std::atomic<std::size_t> bytes_max{SIZE_MAX};

}  // namespace

void* operator new(std::size_t size) {
  const bool is_refused = allocations_left == 0 || size > bytes_max;
  if (allocations_left != SIZE_MAX && allocations_left > 0) --allocations_left;
  if (void* made = is_refused ? nullptr : std::malloc(size)) return made;
  throw std::bad_alloc();
}
void operator delete(void* old) noexcept { std::free(old); }
void operator delete(void* old, std::size_t) noexcept { std::free(old); }

namespace holdfast {
namespace {

const token_source source{store_identity("local/0f"), lock_name("nightly")};
const enter_options at_once{.wait = duration::zero(), .stop = {}};

fencing_token numbered(std::uint64_t value) { return {source, token{value}}; }

/// From here to its end the allocation after `count` more, and each after it, fails.
struct poor {
  explicit poor(std::size_t count) { allocations_left = count; }
  poor(const poor&) = delete;
  poor& operator=(const poor&) = delete;
  ~poor() { allocations_left = SIZE_MAX; }
};

/// Whether `call` ran to its end with memory for `count` allocations.
bool ends_with(std::size_t count, const std::function<void()>& call) {
  const poor now(count);
  try {
    call();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::vector<std::uint64_t> numbers_in(const std::string& log) {
  std::vector<std::uint64_t> all;
  auto reader = log_reader::open(log);
  if (!reader) return all;
  for (auto next = reader->next(); next && *next; next = reader->next()) {
    all.push_back((*next)->number.value);
  }
  return all;
}

/// `call`, of a writer that has a segment to close, with too little memory in each possible way.
void expect_goes_on(const std::function<void(fenced_log&)>& call) {
  const std::vector<std::byte> record(3000);
  bool done = false;
  for (std::size_t count = 0; !done; ++count) {
    const tests::temporary_directory dir;
    const std::string at = dir.path() + "/log";
    auto log = fenced_log::open(at, numbered(1), {.segment_bytes = 4096});
    ASSERT_TRUE(log);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(log->append(record));
    done = ends_with(count, [&] { call(*log); });
    const auto next = log->append(record);
    if (!next && !done) {
      EXPECT_EQ(next.error(), errc::unavailable) << count;
    }
    log = fenced_log::open(at, numbered(1));
    ASSERT_TRUE(log) << count;
    const auto last = log->append(record);
    ASSERT_TRUE(last) << count;
    const auto kept = numbers_in(at);
    ASSERT_FALSE(kept.empty()) << count;
    EXPECT_EQ(kept.back(), last->value) << count;
    EXPECT_EQ(kept.back() - kept.front() + 1, kept.size()) << count;
    if (next) {
      EXPECT_GE(last->value, next->value + 1) << count;
    }
  }
}

TEST(fence_memory, that_runs_out_in_a_call_of_a_log_keeps_no_later_call_waiting) {
  const std::vector<std::byte> record(3000);
  expect_goes_on([&](fenced_log& log) { (void)log.append(record); });
  expect_goes_on([&](fenced_log& log) { (void)log.append(record, survives::power_loss); });
  expect_goes_on([](fenced_log& log) { (void)log.sync(); });
  expect_goes_on([](fenced_log& log) { (void)log.compact(); });
  expect_goes_on([](fenced_log& log) { (void)log.discard_before({2}); });
  expect_goes_on([](fenced_log& log) { (void)log.seal(); });
}

TEST(fence_memory, that_a_record_has_none_of_ends_no_writer) {
  const tests::temporary_directory dir;
  auto log = fenced_log::open(dir.path() + "/log", numbered(1));
  ASSERT_TRUE(log);
  const std::vector<std::byte> record(100'000);
  EXPECT_FALSE(ends_with(0, [&] { (void)log->append(record); }));
  const auto next = log->append(record);
  ASSERT_TRUE(next) << next.error().message();
  EXPECT_EQ(next->value, 1U);
}

TEST(fence_memory, that_many_have_none_of_together_lets_each_return) {
  const tests::temporary_directory dir;
  auto log = fenced_log::open(dir.path() + "/log", numbered(1));
  ASSERT_TRUE(log);
  const std::vector<std::byte> large(300'000);
  const std::vector<std::byte> small(10);
  std::atomic<int> ended{0};
  bytes_max = 200'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 100; ++round) {
          (void)ends_with(SIZE_MAX, [&] { (void)log->append(i % 2 == 0 ? large : small); });
        }
        ++ended;
      });
    }
  }
  bytes_max = SIZE_MAX;
  EXPECT_EQ(ended, 4);
  EXPECT_TRUE(log->append(large));
}

/// `call` at a floor file with a token 1, while the fence of another process goes on.
void expect_no_pass_left(const std::function<void(fence&)>& call) {
  bool done = false;
  for (std::size_t count = 0; !done; ++count) {
    const tests::temporary_directory dir;
    const std::string url = "file:" + dir.path() + "/floors";
    auto ours = fence::open(url, "x");
    auto others = fence::open(url, "x");
    ASSERT_TRUE(ours && others);
    done = ends_with(count, [&] { call(*ours); });
    const auto newer = others->enter(numbered(3), mode::exclusive(), at_once);
    EXPECT_TRUE(newer) << count << ": " << newer.error().message();
  }
}

TEST(fence_memory, that_runs_out_in_a_call_of_a_fence_leaves_no_pass_in_the_way) {
  expect_no_pass_left([](fence& f) { (void)f.enter(numbered(1)); });
  expect_no_pass_left([](fence& f) { (void)f.enter(numbered(1), mode::shared()); });
  expect_no_pass_left([](fence& f) { (void)f.admit(numbered(1)); });
  expect_no_pass_left([](fence& f) { (void)f.raise(token{1}); });
}

}  // namespace
}  // namespace holdfast
