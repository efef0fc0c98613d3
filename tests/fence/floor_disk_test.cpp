#include "core/rounds_fixture.hpp"
#include "fence/floor_file.hpp"
#include "tests/fence/crashing_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>

/// The floor file on a disk that fails in every way a disk may fail.

namespace holdfast::tests {
namespace {

using fencing::floor_file;
using fencing::floor_record;
using fencing::floors;
using fencing::page_bytes;

constexpr const char* file_name = "fence";

// So long that a record takes several sectors: a disk tears nothing smaller.
const token_source source{store_identity(std::string(600, 's')), lock_name(std::string(500, 'n'))};
errc code(const auto& r) { return r ? errc{} : r.error().code(); }

/// One process with a fence of `resource`.
result<std::unique_ptr<floor_file>> open_on(crashing_disk& disk, const std::string& resource,
                                            missing what = missing::create) {
  return floor_file::open(disk.folder(), file_name, resource, what,
                          [] { return fencing::floor_locks(); });
}

result<floor_record> admit(floor_file& file, std::uint64_t t) {
  return file.update([&](const floor_record& r) -> result<floor_record> {
    return floor_record{r.now.with(token{t}, fencing::sharing::exclusive), source};
  });
}

std::uint64_t floor_of(crashing_disk& disk, const std::string& resource) {
  const auto file = open_on(disk, resource);
  EXPECT_TRUE(file) << file.error().message();
  const auto kept = file ? (*file)->read() : result<floor_record>(file.error());
  EXPECT_TRUE(kept) << kept.error().message();
  return kept ? kept->now.floor.value : 0;
}

/// What a process leaves that is killed between the write of a second floor of "a" and its sync.
void write_unsynced(crashing_disk& disk) {
  int failed = 0;
  const auto killed = disk.folder()->open(file_name, io::opening::write, failed);
  ASSERT_TRUE(killed);
  const fencing::stored_record next{"a", {floors{token{2}, token{2}}, source}};
  ASSERT_TRUE(killed->write(encode(next, 1), page_bytes));
}

struct history {
  std::map<std::string, std::uint64_t> acknowledged;
  std::uint64_t last{};
};

// Two resources come to be and grow, each change by a process that opens the file anew.
void grow(crashing_disk& disk, history& h) {
  for (const char* resource : {"a", "a", "b", "a", "b"}) {
    const auto file = open_on(disk, resource);
    if (!file) return;
    ++h.last;
    if (!admit(**file, h.last)) return;
    h.acknowledged[resource] = h.last;
  }
}

void expect_kept(crashing_disk& disk, const history& h, const std::string& when) {
  for (const auto& [resource, floor] : h.acknowledged) {
    const auto kept = floor_of(disk, resource);
    EXPECT_GE(kept, floor) << when << ", resource " << resource;
    EXPECT_LE(kept, h.last) << when;
  }
}

std::uint64_t seeds() {
  return static_cast<std::uint64_t>(core::shortened(core::rounds(200, 20'000)));
}

TEST(floor_on_a_disk, survives_a_power_loss_at_every_call) {
  history unhurt;
  auto whole = std::make_shared<crashing_disk>(0);
  grow(*whole, unhurt);
  const auto calls = whole->calls();
  ASSERT_GT(calls, 20U);
  for (std::uint64_t at = 1; at <= calls + 1; ++at) {
    for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
      const auto disk = std::make_shared<crashing_disk>(seed);
      disk->lose_power_at(at);
      history h;
      grow(*disk, h);
      const auto left = disk->after_power_loss();
      const std::string when =
          "power lost at " + std::to_string(at) + ", seed " + std::to_string(seed);
      expect_kept(*left, h, when);
      // And what a crash has left is as good as what was never hurt.
      grow(*left, h);
      expect_kept(*left->after_power_loss(), h, when + ", grown again");
      if (HasFailure()) return;
    }
  }
}

TEST(floor_on_a_disk, survives_short_writes) {
  for (std::uint64_t seed = 0; seed < seeds(); ++seed) {
    const auto disk = std::make_shared<crashing_disk>(seed);
    disk->write_shortly();
    history h;
    grow(*disk, h);
    EXPECT_EQ(h.acknowledged.at("a"), 4U);
    expect_kept(*disk->after_power_loss(), h, "short writes");
  }
}

// Whether a failed sync was noted in the file survives a power loss or not; by then it is over.
void boot_anew(crashing_disk& disk) {
  if (disk.names().empty()) return;
  auto content = disk.content(file_name);
  if (content.size() <= fencing::stop_offset) return;
  auto& boot = content[fencing::stop_offset];
  if (boot != std::byte{0}) boot = std::byte{'x'};
  disk.overwrite(file_name, content);
}

TEST(floor_on_a_disk, keeps_what_it_said_when_a_call_fails) {
  history unhurt;
  const auto whole = std::make_shared<crashing_disk>(0);
  grow(*whole, unhurt);
  for (const int errno_of : {EIO, ENOSPC}) {
    for (std::uint64_t at = 1; at <= whole->calls(); ++at) {
      const auto disk = std::make_shared<crashing_disk>(at);
      disk->fail_at(at, errno_of);
      history h;
      grow(*disk, h);
      EXPECT_LT(h.acknowledged["b"], 5U) << "the failure of call " << at << " was not told";
      const auto left = disk->after_power_loss();
      boot_anew(*left);
      expect_kept(*left, h, "call " + std::to_string(at) + " failed");
    }
  }
}

TEST(floor_on_a_disk, a_full_disk_loses_nothing_and_is_enough_again_when_there_is_room) {
  const auto disk = std::make_shared<crashing_disk>(1);
  const auto file = open_on(*disk, "a");
  ASSERT_TRUE(file && admit(**file, 1));
  disk->limit_bytes(3 * page_bytes);
  const auto other = open_on(*disk, "b");
  ASSERT_TRUE(other);
  const auto refused = admit(**other, 2);
  EXPECT_EQ(code(refused), errc::unavailable);
  EXPECT_NE(refused.error().message().find(file_name), std::string::npos);
  EXPECT_TRUE(admit(**file, 3));
  disk->limit_bytes(5 * page_bytes);
  EXPECT_TRUE(admit(**other, 4));
  EXPECT_EQ(floor_of(*disk->after_power_loss(), "a"), 3U);
  EXPECT_EQ(floor_of(*disk->after_power_loss(), "b"), 4U);
}

// Linux forgets what a failed sync should have written: the next one would succeed, and the floor
// would be gone after a power loss. So the file stops, for every process.
TEST(floor_on_a_disk, a_failed_sync_is_never_tried_again) {
  const auto disk = std::make_shared<crashing_disk>(1);
  const auto file = open_on(*disk, "a");
  const auto other = open_on(*disk, "a");
  ASSERT_TRUE(file && other && admit(**file, 1));
  disk->fail_all(disk_call::sync, EIO);
  EXPECT_EQ(code(admit(**file, 2)), errc::unavailable);
  disk->fail_all(disk_call::sync, 0);
  for (auto* each : {file->get(), other->get()}) {
    const auto refused = admit(*each, 2);
    EXPECT_EQ(code(refused), errc::unavailable);
    EXPECT_NE(refused.error().message().find("sync"), std::string::npos);
    EXPECT_EQ(code(each->read()), errc::unavailable);
  }
  EXPECT_EQ(code(open_on(*disk, "a")), errc::unavailable);
  const auto left = disk->after_power_loss();
  boot_anew(*left);
  EXPECT_GE(floor_of(*left, "a"), 1U);
}

TEST(floor_on_a_disk, a_failed_sync_of_nobody_knows_which_boot_is_not_forgotten) {
  const auto disk = std::make_shared<crashing_disk>(1);
  {
    const auto file = open_on(*disk, "a");
    ASSERT_TRUE(file && admit(**file, 1));
  }
  auto content = disk->content(file_name);
  const std::string_view mark = "\nsync failed";
  for (std::size_t i = 0; i < mark.size(); ++i) {
    content[fencing::stop_offset + i] = static_cast<std::byte>(mark[i]);
  }
  disk->overwrite(file_name, content);
  const auto refused = open_on(*disk, "a");
  ASSERT_EQ(code(refused), errc::unavailable);
  EXPECT_NE(refused.error().message().find("sync failed"), std::string::npos);
}

// A refusal tells of a floor, which a power loss must not take back afterwards.
TEST(floor_on_a_disk, a_floor_is_on_the_disk_before_it_refuses_anybody) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto disk = std::make_shared<crashing_disk>(seed);
    const auto file = open_on(*disk, "a");
    ASSERT_TRUE(file && admit(**file, 1));
    ASSERT_NO_FATAL_FAILURE(write_unsynced(*disk));
    const auto refused = (*file)->update([](const floor_record& r) -> result<floor_record> {
      EXPECT_EQ(r.now.floor, token{2});
      return error(errc::stale_token, "");
    });
    EXPECT_EQ(code(refused), errc::stale_token);
    EXPECT_EQ(floor_of(*disk->after_power_loss(), "a"), 2U) << "seed " << seed;
  }
}

// A process that is killed between a write and its sync leaves what others see and a power loss
// takes away.
TEST(floor_on_a_disk, what_a_killed_process_has_written_is_synced_before_it_counts) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto disk = std::make_shared<crashing_disk>(seed);
    {
      const auto file = open_on(*disk, "a");
      ASSERT_TRUE(file && admit(**file, 1));
    }
    ASSERT_NO_FATAL_FAILURE(write_unsynced(*disk));
    const auto file = open_on(*disk, "a");
    ASSERT_TRUE(file && admit(**file, 2));
    EXPECT_EQ(floor_of(*disk->after_power_loss(), "a"), 2U);
  }
}

TEST(floor_on_a_disk, any_one_damaged_byte_changes_no_floor) {
  const auto disk = std::make_shared<crashing_disk>(1);
  history h;
  grow(*disk, h);
  const auto content = disk->content(file_name);
  for (std::size_t i = page_bytes; i < content.size(); i += i % page_bytes < 80 ? 1 : 97) {
    auto hurt = content;
    hurt[i] ^= std::byte{0x41};
    disk->overwrite(file_name, hurt);
    for (const auto& [resource, floor] : h.acknowledged) {
      EXPECT_EQ(floor_of(*disk, resource), floor) << "byte " << i;
    }
  }
}

TEST(floor_on_a_disk, the_only_whole_copy_is_not_the_one_that_is_written_first) {
  for (const std::uint64_t bad : {1, 2}) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const auto disk = std::make_shared<crashing_disk>(seed);
      {
        const auto file = open_on(*disk, "a");
        ASSERT_TRUE(file && admit(**file, 1));
      }
      auto content = disk->content(file_name);
      content[bad * page_bytes + 20] ^= std::byte{1};
      disk->overwrite(file_name, content);
      disk->lose_power_at(disk->calls() + 1 + seed % 6);
      if (const auto file = open_on(*disk, "a")) static_cast<void>(admit(**file, 2));
      EXPECT_GE(floor_of(*disk->after_power_loss(), "a"), 1U) << "copy " << bad;
    }
  }
}

TEST(floor_on_a_disk, a_record_whose_copies_are_both_damaged_is_told_and_others_are_served) {
  const auto disk = std::make_shared<crashing_disk>(1);
  history h;
  grow(*disk, h);
  auto content = disk->content(file_name);
  content[page_bytes + 20] ^= std::byte{1};
  content[2 * page_bytes + 20] ^= std::byte{1};
  disk->overwrite(file_name, content);
  EXPECT_EQ(floor_of(*disk, "b"), h.acknowledged["b"]);
  for (const char* resource : {"a", "new"}) {
    const auto file = open_on(*disk, resource);
    ASSERT_TRUE(file);
    EXPECT_EQ(code((*file)->read()), errc::damaged);
    EXPECT_EQ(code(admit(**file, 9)), errc::damaged);
  }
  EXPECT_EQ(disk->content(file_name), content);
}

std::vector<std::byte> bytes_of(std::string_view text, std::size_t size) {
  std::vector<std::byte> all(size);
  std::transform(text.begin(), text.end(), all.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  return all;
}

TEST(floor_on_a_disk, another_format_and_a_newer_version_are_refused_and_not_touched) {
  for (const auto& [text, size, says] :
       {std::tuple{"holdfast fence floors\nversion 2\n", page_bytes, "another version"},
        std::tuple{"PK\x03\x04", page_bytes, "not a floor file"},
        std::tuple{"notes", std::size_t{5}, "not a floor file"},
        std::tuple{"", 3 * page_bytes, "not a floor file"}}) {
    const auto disk = std::make_shared<crashing_disk>(1);
    {
      int failed = 0;
      static_cast<void>(disk->folder()->open(file_name, io::opening::create, failed));
    }
    const auto content = bytes_of(text, size);
    disk->overwrite(file_name, content);
    const auto file = open_on(*disk, "a");
    ASSERT_EQ(code(file), errc::damaged) << text;
    EXPECT_NE(file.error().message().find(says), std::string::npos) << file.error().message();
    EXPECT_EQ(disk->content(file_name), content);
  }
}

TEST(floor_on_a_disk, whoever_only_looks_makes_nothing) {
  const auto disk = std::make_shared<crashing_disk>(1);
  EXPECT_EQ(code(open_on(*disk, "a", missing::refuse)), errc::unavailable);
  EXPECT_TRUE(disk->names().empty());
  const auto file = open_on(*disk, "a");
  ASSERT_TRUE(file && admit(**file, 1));
  EXPECT_EQ(code(open_on(*disk, "b", missing::refuse)), errc::unavailable);
  EXPECT_TRUE(open_on(*disk, "a", missing::refuse));
}

}  // namespace
}  // namespace holdfast::tests
