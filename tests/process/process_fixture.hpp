#pragma once

#include "tests/process/child.hpp"
#include "tests/process/history.hpp"
#include "tests/process/page.hpp"
#include "tests/process/served_store.hpp"
#include "tests/process/worker.hpp"
#include "tests/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

namespace holdfast::process {

/// A store, a page and a history of one test; nothing may be left when it ends.
class process_test : public testing::TestWithParam<store_kind> {
 protected:
  process_test()
      : store_(GetParam().make(directory_.path())),
        at_(directory_.path(), store_->url(), store_->patient_url()),
        page_(at_.page()),
        random_(seed_) {
    ::setenv("XDG_STATE_HOME", at_.state_path().c_str(), 1);
    ::setenv("HOLDFAST_RUN_DIRECTORY", at_.run_path().c_str(), 1);
    adopt_orphans();
  }

  void SetUp() override { descriptors_ = open_descriptors(); }
  void TearDown() override {
    if (HasFailure()) {
      // For a look at the store and the history: the copy stays.
      std::printf("HOLDFAST_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    }
    EXPECT_TRUE(nobody_is_left()) << "a process is left over";
    EXPECT_EQ(open_descriptors(), descriptors_);
  }

  /// Every descendant ends in time, but for the store's servers.
  bool nobody_is_left() const { return all_gone(std::chrono::seconds{60}, store_->servers()); }
  /// Between zero and `most`.
  std::chrono::microseconds random_time(std::chrono::microseconds most) {
    return std::chrono::microseconds{
        std::uniform_int_distribution<std::int64_t>(0, most.count())(random_)};
  }
  std::size_t random_below(std::size_t n) { return random_() % n; }

  void expect_clean_history() {
    const auto bad = history::violations(history::read(at_.history()));
    EXPECT_TRUE(bad.empty()) << bad.size() << " violations, the first: " << bad.front();
  }
  /// A newcomer gets every lock, and when it has gone the store is empty.
  void expect_clean_store(const std::string& name) {
    auto newcomer = child::fork([&] {
      auto s = join(at_, std::chrono::hours{1});
      auto l = s.acquire(lock_name(name), {.wait = std::chrono::seconds{60}});
      return l && std::move(*l).release() && s.close() ? 0 : 7;
    });
    EXPECT_EQ(newcomer.wait(), 0) << "the store is stuck";
    // What a killed process had sent may still be done for a while.
    const auto patience = std::chrono::seconds{store_->servers().empty() ? 0 : 10};
    EXPECT_TRUE(eventually([&] { return nothing_is_left(); }, patience));
  }

  const place& at() const { return at_; }
  page& shared() { return *page_; }

 private:
  bool nothing_is_left() const {
    return child::fork([&] { return look_for_leftovers(at_); }).wait() == 0;
  }

  tests::temporary_directory directory_;
  std::unique_ptr<served_store> store_;
  place at_;
  shared_page page_;
  std::uint64_t seed_ = seed();
  std::mt19937_64 random_;
  std::size_t descriptors_{};
};

}  // namespace holdfast::process
