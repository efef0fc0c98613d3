#include "tests/process/process_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>

/// Processes that are killed or stopped inside an operation of the store.

namespace holdfast::process {
namespace {

using namespace std::chrono_literals;

class stopped : public process_test {
 protected:
  /// Spends nearly all its time inside operations.
  child busy_one() {
    return child::fork([&] {
      auto s = join(at(), 1h);
      for (shared().slots[0] = 1; shared().stop == 0;) {
        auto l = s.try_acquire(lock_name("busy " + std::to_string(shared().writes++ % 50)));
        if (l) static_cast<void>(std::move(*l).release());
      }
      return 0;
    });
  }

  /// What one whole use of the store says, and how long it took.
  std::pair<std::string, std::chrono::milliseconds> use() {
    shared().slots[1] = shared().slots[2] = 0;
    auto user = child::fork([&] {
      const auto begin = clock::now();
      auto s = holdfast::open(at().patient_url, {.ttl = 1h});
      result<void> r = s ? result<void>{} : s.error();
      if (s) {
        auto l = s->try_acquire(lock_name("mine"));
        r = l ? std::move(*l).release() : l.error();
      }
      const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begin);
      shared().slots[1] = static_cast<std::uint64_t>(took.count());
      shared().slots[2] = r ? 0 : static_cast<std::uint64_t>(r.error().code());
      return 0;
    });
    if (user.wait() != 0) return {"stuck", 60s};
    const auto code = shared().slots[2].load();
    return {code == 0 ? "ok" : name_of(static_cast<errc>(code)),
            std::chrono::milliseconds{shared().slots[1].load()}};
  }
};

/// Whoever stands still inside an operation has the files of the embedded engine locked.
class stopped_in_the_files : public stopped {};

TEST_P(stopped_in_the_files, others_are_unavailable_for_a_bounded_time) {
  auto busy = busy_one();
  ASSERT_TRUE(eventually([&] { return shared().slots[0] == 1; }));
  int unavailable = 0;
  const int enough = rounds(2, 10);
  for (int i = 0; i < 500 && unavailable < enough; ++i) {
    std::this_thread::sleep_for(random_time(3ms));
    busy.signal(SIGSTOP);
    const auto [said, took] = use();
    EXPECT_TRUE(said == "ok" || said == "unavailable" || said == "outcome_unknown") << said;
    // One operation may take 2 s; opening a session, acquiring and closing are a few of them.
    EXPECT_LT(took, 15s);
    if (said != "ok") ++unavailable;
    busy.signal(SIGCONT);
    if (said != "ok") {
      EXPECT_EQ(use().first, "ok") << "the store does not recover";
    }
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GE(unavailable, 1) << "never stopped inside an operation";
  shared().stop = 1;
  EXPECT_EQ(busy.wait(), 0);
  expect_clean_store("mine");
}

TEST_P(stopped, a_process_killed_inside_an_operation_leaves_the_store_usable) {
  auto fastest = 60'000ms;
  for (int i = 0; i < rounds(50, 1000); ++i) {
    auto busy = busy_one();
    ASSERT_TRUE(eventually([&] { return shared().slots[0] == 1; }));
    std::this_thread::sleep_for(random_time(2ms));
    busy.end();
    shared().slots[0] = 0;
    const auto [said, took] = use();
    ASSERT_EQ(said, "ok") << "round " << i;
    fastest = std::min(fastest, took);
  }
  EXPECT_LT(fastest, 1s) << "every time it waits for the dead process";
  expect_clean_store("mine");
}

TEST_P(stopped_in_the_files, killing_while_the_store_is_being_made_leaves_it_usable) {
  for (int i = 0; i < rounds(30, 300); ++i) {
    auto opener = child::fork([&] {
      auto s = join(at(), 1h);
      return s.try_acquire(lock_name("x")).has_value() ? 0 : 1;
    });
    std::this_thread::sleep_for(random_time(4ms));
    opener.end();
    ASSERT_EQ(use().first, "ok") << "round " << i;
    if (i % 2 == 0) std::filesystem::remove_all(at().store_path());
  }
}

TEST_P(stopped, a_killed_process_does_not_stop_the_others) {
  std::vector<child> all;
  for (int i = 0; i < 4; ++i) all.push_back(busy_one());
  for (int i = 0; i < rounds(50, 500); ++i) {
    std::this_thread::sleep_for(random_time(5ms));
    auto& victim = all[random_below(all.size())];
    victim.end();
    const auto before = shared().writes.load();
    ASSERT_TRUE(eventually([&] { return shared().writes > before + 10; })) << "round " << i;
    victim = busy_one();
  }
  shared().stop = 1;
  for (auto& c : all) EXPECT_EQ(c.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(engines, stopped, testing::ValuesIn(all_stores()), kind_name);
INSTANTIATE_TEST_SUITE_P(engines, stopped_in_the_files, testing::ValuesIn(local_stores()),
                         kind_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(stopped_in_the_files);

}  // namespace
}  // namespace holdfast::process
