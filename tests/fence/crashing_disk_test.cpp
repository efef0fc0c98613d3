#include "tests/fence/crashing_disk.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <set>

/// The disk of the crash tests has to lose what a real one may lose, or they show nothing.

namespace holdfast::tests {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string text_of(const crashing_disk& disk, const std::string& name) {
  const auto all = disk.content(name);
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

/// Every end that a power loss after `body` had in a hundred trials.
std::set<std::string> ends(const std::function<void(io::folder&)>& body) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto disk = std::make_shared<crashing_disk>(seed);
    body(*disk->folder());
    const auto left = disk->after_power_loss();
    std::string all;
    for (const auto& name : left->names()) all += name + "=" + text_of(*left, name) + ";";
    seen.insert(all);
  }
  return seen;
}

TEST(crashing_disk, keeps_what_was_synced_with_its_name) {
  const auto seen = ends([](io::folder& at) {
    int code = 0;
    const auto file = at.open("a", io::opening::create, code);
    EXPECT_TRUE(file->write(bytes("kept"), 0));
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(at.sync());
  });
  EXPECT_EQ(seen, std::set<std::string>{"a=kept;"});
}

TEST(crashing_disk, loses_a_name_that_was_not_synced) {
  const auto seen = ends([](io::folder& at) {
    int code = 0;
    const auto file = at.open("a", io::opening::create, code);
    EXPECT_TRUE(file->write(bytes("kept"), 0));
    EXPECT_TRUE(file->sync());
  });
  EXPECT_EQ(seen, (std::set<std::string>{"", "a=kept;"}));
}

TEST(crashing_disk, keeps_any_part_of_what_was_not_synced) {
  const auto seen = ends([](io::folder& at) {
    int code = 0;
    const auto file = at.open("a", io::opening::create, code);
    EXPECT_TRUE(at.sync());
    EXPECT_TRUE(file->write(bytes("x"), 511));
    EXPECT_TRUE(file->write(bytes("yz"), 511));
  });
  const std::string zeros(511, '\0');
  EXPECT_TRUE(seen.contains("a=;"));
  EXPECT_TRUE(seen.contains("a=" + zeros + "x;"));
  EXPECT_TRUE(seen.contains("a=" + zeros + "yz;"));
  // Torn between two sectors, in both ways, and a size without its data.
  EXPECT_TRUE(seen.contains("a=" + zeros + "xz;"));
  EXPECT_TRUE(seen.contains("a=" + zeros + std::string(2, '\0') + ";"));
}

TEST(crashing_disk, never_writes_again_what_a_failed_sync_gave_up) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto disk = std::make_shared<crashing_disk>(seed);
    const auto at = disk->folder();
    int code = 0;
    const auto file = at->open("a", io::opening::create, code);
    EXPECT_TRUE(at->sync());
    EXPECT_TRUE(file->write(bytes("lost"), 0));
    disk->fail_all(disk_call::sync, EIO);
    EXPECT_EQ(file->sync().code, EIO);
    disk->fail_all(disk_call::sync, 0);
    EXPECT_TRUE(file->sync());
    EXPECT_EQ(text_of(*disk, "a"), "lost");
    seen.insert(text_of(*disk->after_power_loss(), "a"));
  }
  EXPECT_TRUE(seen.contains(""));
  EXPECT_TRUE(seen.contains("lost"));
}

TEST(crashing_disk, is_dead_from_the_call_on_in_which_the_power_went) {
  const auto disk = std::make_shared<crashing_disk>(1);
  disk->lose_power_at(2);
  const auto at = disk->folder();
  int code = 0;
  const auto file = at->open("a", io::opening::create, code);
  EXPECT_EQ(at->sync().code, EIO);
  EXPECT_TRUE(disk->is_off());
  EXPECT_EQ(file->write(bytes("x"), 0).code, EIO);
  EXPECT_EQ(file->size().code, EIO);
  EXPECT_FALSE(at->open("a", io::opening::read, code));
}

TEST(crashing_disk, fills_up_and_keeps_what_was_reserved) {
  const auto disk = std::make_shared<crashing_disk>(1);
  disk->limit_bytes(10);
  const auto at = disk->folder();
  int code = 0;
  const auto first = at->open("a", io::opening::create, code);
  const auto second = at->open("b", io::opening::create, code);
  EXPECT_TRUE(first->reserve(0, 8));
  EXPECT_EQ(second->write(bytes("xyz"), 0).code, ENOSPC);
  EXPECT_TRUE(first->write(bytes("12345678"), 0));
  EXPECT_EQ(first->reserve(8, 8).code, ENOSPC);
}

}  // namespace
}  // namespace holdfast::tests
