#include "tests/process/process_fixture.hpp"

#include <filesystem>
#include <fstream>

/// Tokens grow whatever ends in between: processes, the boot, the store's files.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class tokens : public process_test {
 protected:
  /// The token that a process of its own is given; zero when it is not.
  std::uint64_t next(bool killed = false) {
    shared().slots[0] = 0;
    auto user = child::fork([&] {
      auto s = join(at(), 1h);
      auto l = s.try_acquire(lock_name("x"));
      if (!l) {
        std::fprintf(stderr, "%s\n", l.error().message().c_str());
        return 1;
      }
      shared().slots[0] = l->token().value;
      if (killed) ::raise(SIGKILL);
      return 0;
    });
    EXPECT_EQ(user.wait(), killed ? 128 + SIGKILL : 0);
    return shared().slots[0];
  }
};

TEST_P(tokens, grow_across_processes_and_crashes) {
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const auto t = next(i % 2 == 0);
    ASSERT_GT(t, last);
    EXPECT_LE(t, token_max.value);
    last = t;
  }
}

class tokens_in_files : public tokens {
 protected:
  /// What a power cut leaves: another boot id, and files that were never synced torn.
  void reboot() {
    const fs::path store = at().store_path();
    ASSERT_TRUE(fs::exists(store / "boot"));
    std::ofstream(store / "boot", std::ios::trunc) << "00000000-0000-4000-8000-000000000000\n";
    for (const auto& file : fs::recursive_directory_iterator(store)) {
      const auto name = file.path().filename().string();
      if (!file.is_regular_file() || name == "boot" || name == "floor" || name == "format")
        continue;
      if (file.file_size() < 4096) continue;
      std::ofstream torn(file.path(), std::ios::in | std::ios::out | std::ios::binary);
      torn.seekp(100);
      torn << std::string(3000, '\x5a');
    }
  }
};

TEST_P(tokens_in_files, grow_across_a_reboot_that_tore_the_data) {
  std::uint64_t last = next();
  for (int i = 0; i < 3; ++i) {
    reboot();
    const auto t = next(i == 1);
    ASSERT_GT(t, last);
    last = t;
  }
  expect_clean_store("x");
}

TEST_P(tokens_in_files, after_a_reboot_nothing_of_the_old_boot_is_held) {
  ASSERT_GT(next(true), 0U);
  reboot();
  EXPECT_GT(next(), 0U);
  expect_clean_store("x");
}

TEST_P(tokens_in_files, grow_when_the_floor_is_lost) {
  const auto before = next();
  ASSERT_TRUE(fs::remove(fs::path(at().store_path()) / "floor"));
  reboot();
  EXPECT_GT(next(), before);
}

TEST_P(tokens_in_files, grow_when_one_slot_of_the_floor_is_torn) {
  std::uint64_t last = next();
  const auto floor = fs::path(at().store_path()) / "floor";
  for (int half = 0; half < 2; ++half) {
    reboot();
    {
      std::ofstream torn(floor, std::ios::in | std::ios::out | std::ios::binary);
      torn.seekp(half == 0 ? 8 : static_cast<std::streamoff>(fs::file_size(floor) / 2 + 8));
      torn << "torn";
    }
    const auto t = next();
    ASSERT_GT(t, last) << half;
    last = t;
  }
}

INSTANTIATE_TEST_SUITE_P(engines, tokens, testing::ValuesIn(all_stores()), kind_name);
INSTANTIATE_TEST_SUITE_P(engines, tokens_in_files, testing::ValuesIn(local_stores()), kind_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(tokens_in_files);

}  // namespace
}  // namespace holdfast::process
