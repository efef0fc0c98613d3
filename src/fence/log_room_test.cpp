#include "fence/log_inline.hpp"
#include "tests/fence/log_machine.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <latch>
#include <string>
#include <thread>

/// A disk that others fill up.

namespace holdfast {
namespace {

using tests::bytes_of;
using tests::disk_call;
using tests::log_machine;

const log_options small{.segment_bytes = 4096, .reserve_bytes = 4096};
const std::string record(1000, 'x');

/// Others take what is left.
void fill(log_machine& m) { m.disk().limit_bytes(m.disk().used_bytes()); }

/// Until one is refused for want of room; the number of the last.
std::uint64_t append_all(fencing::log_owner& log, std::uint64_t last) {
  for (;;) {
    const auto got = log.append(bytes_of(record), survives::kill);
    if (!got) {
      EXPECT_EQ(got.error(), errc::unavailable);
      return last;
    }
    last = got->value;
  }
}

TEST(log_room, a_discard_frees_space_wherever_the_disk_filled_up) {
  for (std::uint64_t more = 0; more < 80'000; more += 500) {
    SCOPED_TRACE(std::to_string(more) + " bytes more");
    log_machine m(1);
    const auto log = m.must_open(1, {.segment_bytes = 16'384, .reserve_bytes = 16'384});
    std::uint64_t last = 0;
    for (int i = 0; i < 40; ++i) last = log->append(bytes_of(record), survives::kill)->value;
    m.disk().limit_bytes(m.disk().used_bytes() + more);
    last = append_all(*log, last);
    fill(m);
    const auto left = log->discard_before({last});
    ASSERT_TRUE(left) << left.error().message();
    EXPECT_GT(left->value, 16U);
  }
}

TEST(log_room, one_discard_after_another_frees_space) {
  log_machine m(1);
  const auto log = m.must_open(1, small);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(log->append(bytes_of(record), survives::kill));
  for (std::uint64_t first = 5; first < 25; first += 4) {
    fill(m);
    const auto left = log->discard_before({first});
    ASSERT_TRUE(left) << left.error().message();
    EXPECT_EQ(left->value, first);
  }
}

/// Until that thread, which is about to stand in line, sleeps there.
void await_sleep(const std::atomic<pid_t>& thread) {
  for (;; std::this_thread::yield()) {
    if (thread == 0) continue;
    std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string number, name, state;
    if (status >> number >> name >> state && state == "S") return;
  }
}

TEST(log_room, a_sync_that_is_served_beside_an_append_without_room_is_done) {
  log_machine m(1);
  const auto log = m.must_open(1, small);
  ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
  std::latch under_way(1), may_go(1);
  m.disk().before(disk_call::sync, [&] {
    under_way.count_down();
    may_go.wait();
  });
  std::thread first([&] { EXPECT_TRUE(log->sync()); });
  under_way.wait();
  fill(m);
  std::atomic<pid_t> appends{}, syncs{};
  std::thread writer([&] {
    appends = ::gettid();
    EXPECT_EQ(log->append(bytes_of(std::string(9000, 'x')), survives::kill).error(),
              errc::unavailable);
  });
  await_sleep(appends);
  std::thread syncer([&] {
    syncs = ::gettid();
    const auto done = log->sync();
    EXPECT_TRUE(done) << done.error().message();
  });
  await_sleep(syncs);
  may_go.count_down();
  for (auto* one : {&first, &writer, &syncer}) one->join();
  EXPECT_TRUE(log->append(bytes_of("b"), survives::power_loss)) << "it goes on";
}

TEST(log_room, a_discard_frees_space_before_the_first_append) {
  log_machine m(1);
  {
    const auto log = m.must_open(1, small);
    for (int i = 0; i < 9; ++i) ASSERT_TRUE(log->append(bytes_of(record), survives::kill));
  }
  const auto log = m.must_open(2, small);
  fill(m);
  const auto left = log->discard_before({9});
  ASSERT_TRUE(left) << left.error().message();
  EXPECT_EQ(left->value, 9U);
}

TEST(log_room, a_log_is_opened_where_nothing_more_can_be_reserved) {
  log_machine m(1);
  m.disk().fail_all(disk_call::reserve, ENOSPC);
  EXPECT_EQ(m.open(1, small).error(), errc::unavailable);  // Its mark needs a block.
  m.disk().fail_all(disk_call::reserve, 0);
  const auto log = m.must_open(2, {.segment_bytes = 4096, .reserve_bytes = 0});
  const auto used = m.disk().used_bytes();
  ASSERT_TRUE(log->append(bytes_of(record), survives::kill));
  EXPECT_LT(m.disk().used_bytes(), used + 2 * record.size());
}

TEST(log_room, a_record_that_fits_is_taken_where_more_cannot_be_reserved) {
  log_machine m(1);
  const auto log = m.must_open(1, {.reserve_bytes = 1 << 20});
  m.disk().limit_bytes(m.disk().used_bytes() + 20'000);
  EXPECT_GE(append_all(*log, 0), 15U);
}

TEST(log_room, a_reservation_that_a_signal_interrupts_is_made_again) {
  log_machine m(1);
  const auto interrupted = [&] {
    m.disk().fail_all(disk_call::reserve, EINTR);
    m.disk().before(disk_call::reserve, [&] {
      m.disk().before(disk_call::reserve, [&] { m.disk().fail_all(disk_call::reserve, 0); });
    });
  };
  interrupted();
  const auto log = m.must_open(1, small);
  ASSERT_TRUE(log);
  interrupted();
  const auto used = m.disk().used_bytes();
  ASSERT_TRUE(log->append(bytes_of(record), survives::kill));
  EXPECT_GE(m.disk().used_bytes(), used + small.reserve_bytes);
}

/// Whoever made it was ended in between, as a log without a version tells.
TEST(log_room, the_name_of_a_directory_is_synced_by_who_opens_a_log_first) {
  log_machine m(1);
  m.disk().overwrite("epoch", std::vector<std::byte>(4096));
  const std::string format = fencing::encode_format(tests::with(1).from.str());
  const auto bytes = bytes_of(format);
  m.disk().overwrite("format", {bytes.begin(), bytes.end()});
  EXPECT_FALSE(m.disk().is_named());
  ASSERT_TRUE(m.open(1));
  EXPECT_TRUE(m.disk().is_named());
}

}  // namespace
}  // namespace holdfast
