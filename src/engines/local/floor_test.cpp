#include "engines/local/floor.hpp"

#include "tests/temporary_directory.hpp"

#include <holdfast/token.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace holdfast::engines::local {
namespace {

class floor_file : public testing::Test {
 protected:
  floor_file() {
    auto fd = io::open_directory(dir_.path());
    if (fd) fd_ = std::move(*fd);
  }
  token_floor open() const {
    auto f = token_floor::open({fd_.get(), dir_.path()}, 0600);
    if (!f) ADD_FAILURE() << f.error().message();
    return std::move(*f);
  }
  /// After a sync that did not fail.
  template <class Floor>
  static result<std::uint64_t> raise(Floor&& f, std::uint64_t needed) {
    return f.raise(needed, *f.ceiling());
  }
  io::unique_fd raw() const {
    return io::unique_fd(::open((dir_.path() + "/floor").c_str(), O_RDWR | O_CLOEXEC));
  }
  void write(std::uint64_t at, std::byte value) const {
    ASSERT_EQ(::pwrite(raw().get(), &value, 1, static_cast<off_t>(at)), 1);
  }
  std::byte read(std::uint64_t at) const {
    std::byte b{};
    EXPECT_EQ(::pread(raw().get(), &b, 1, static_cast<off_t>(at)), 1);
    return b;
  }

 private:
  tests::temporary_directory dir_;
  io::unique_fd fd_;
};

constexpr std::uint64_t second_slot = 4096;
constexpr std::uint64_t slot_bytes = 28;

TEST_F(floor_file, a_new_one_knows_nothing) { EXPECT_EQ(*open().ceiling(), 0U); }

TEST_F(floor_file, a_raised_ceiling_is_above_what_was_needed_and_survives) {
  EXPECT_EQ(*raise(open(), 1000), 1000 + token_floor::block);
  EXPECT_EQ(*open().ceiling(), 1000 + token_floor::block);
  // Never down, whatever is asked.
  EXPECT_EQ(*raise(open(), 5), 1000 + 2 * token_floor::block);
}

TEST_F(floor_file, a_torn_write_leaves_the_earlier_ceiling) {
  auto f = open();
  const auto first = *raise(f, 1000);
  const auto second = *raise(f, first);
  const auto third = *raise(f, second);
  ASSERT_GT(third, second);
  // The third write went over the first one; whichever byte of it is wrong, the second counts.
  int torn = 0;
  for (std::uint64_t at = 0; at < 2 * second_slot; at += second_slot) {
    for (std::uint64_t i = 0; i < slot_bytes; ++i) {
      const std::byte before = read(at + i);
      for (int bit = 0; bit < 8; ++bit) {
        write(at + i, before ^ static_cast<std::byte>(1 << bit));
        const auto left = *f.ceiling();
        EXPECT_TRUE(left == second || left == third);
        if (left == second) ++torn;
      }
      write(at + i, before);
    }
  }
  EXPECT_EQ(torn, static_cast<int>(slot_bytes) * 8);
  EXPECT_EQ(*f.ceiling(), third);
}

TEST_F(floor_file, the_valid_slot_is_never_the_one_written_next) {
  auto f = open();
  auto last = *raise(f, 1000);
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t broken = i % 2 == 0 ? 0 : second_slot;
    const std::byte before = read(broken + 20);
    write(broken + 20, before ^ std::byte{1});
    const auto left = *f.ceiling();
    const auto next = raise(f, last);
    ASSERT_TRUE(next);
    EXPECT_GT(*next, last);
    EXPECT_GE(*next, left);
    last = *next;
    EXPECT_EQ(*f.ceiling(), last);
  }
}

TEST_F(floor_file, what_was_not_synced_is_written_over_and_never_the_ceiling_that_was) {
  auto f = open();
  std::uint64_t synced = 0;
  for (int i = 0; i < 6; ++i) {
    const auto before = *f.raise(synced + 1000, synced);
    // The sync after each of these failed, or its writer was killed before it.
    for (int failed = 0; failed < 3; ++failed) {
      ASSERT_GT(*f.raise(before + 1000, before), before);
      const std::uint64_t torn = read(8) > read(second_slot + 8) ? 0 : second_slot;
      const std::byte was = read(torn + 20);
      write(torn + 20, was ^ std::byte{1});
      EXPECT_EQ(*f.ceiling(), before) << i << " " << failed;
      write(torn + 20, was);
    }
    synced = *f.ceiling();
    ASSERT_GT(synced, before);
  }
}

TEST_F(floor_file, the_only_slot_that_can_be_read_is_not_written_over) {
  for (const bool newer_is_torn : {true, false}) {
    auto f = open();
    const auto first = *raise(f, *f.ceiling() + 1000);
    const auto second = *f.raise(first, first);
    ASSERT_GT(second, first);
    const std::uint64_t newer = read(8) > read(second_slot + 8) ? 0 : second_slot;
    const std::uint64_t torn = newer_is_torn ? newer : second_slot - newer;
    // Its number is there; of the newer one the ceiling is not, of the older one the checksum.
    for (std::uint64_t i = newer_is_torn ? 16 : 24; i < slot_bytes; ++i) {
      write(torn + i, std::byte{0});
    }
    const auto left = newer_is_torn ? first : second;
    ASSERT_EQ(*f.ceiling(), left);
    ASSERT_TRUE(f.raise(left, first));
    write(torn, std::byte{0});
    EXPECT_EQ(*f.ceiling(), left) << "the new one went over the torn one";
  }
}

TEST_F(floor_file, the_newest_ceiling_stays_where_another_raised_it_since_this_one_synced) {
  auto f = open();
  const auto first = *raise(f, 1000);
  const auto third = *raise(f, *raise(f, first));
  ASSERT_TRUE(f.raise(third, first));
  const std::uint64_t written = read(8) > read(second_slot + 8) ? 0 : second_slot;
  write(written, std::byte{0});
  EXPECT_EQ(*f.ceiling(), third);
}

TEST_F(floor_file, with_both_slots_lost_nothing_survives_and_raising_works) {
  auto f = open();
  (void)*raise(f, 1000);
  (void)*raise(f, 1000);
  write(0, std::byte{0});
  write(second_slot, std::byte{0});
  EXPECT_EQ(*f.ceiling(), 0U);
  EXPECT_EQ(*raise(f, 77), 77 + token_floor::block);
  EXPECT_EQ(*f.ceiling(), 77 + token_floor::block);
}

TEST_F(floor_file, tokens_end_at_the_largest_one) {
  auto f = open();
  EXPECT_EQ(*raise(f, token_max.value - 1), token_max.value);
  EXPECT_EQ(raise(f, token_max.value).error(), errc::unavailable);
  EXPECT_EQ(*f.ceiling(), token_max.value);
}

TEST_F(floor_file, every_prefix_of_a_write_leaves_the_earlier_ceiling) {
  auto f = open();
  const auto first = *raise(f, 1000);
  const bool first_is_second_slot = read(0) == std::byte{0};
  const std::uint64_t other = first_is_second_slot ? 0 : second_slot;
  const auto second = *raise(f, first);
  std::array<std::byte, slot_bytes> whole{};
  for (std::uint64_t i = 0; i < slot_bytes; ++i) whole[i] = read(other + i);
  for (std::uint64_t i = 0; i < slot_bytes; ++i) write(other + i, std::byte{0});
  for (std::uint64_t i = 0; i + 1 < slot_bytes; ++i) {
    write(other + i, whole[i]);
    const auto left = *f.ceiling();
    EXPECT_TRUE(left == first || left == second) << i;
  }
}

}  // namespace
}  // namespace holdfast::engines::local
