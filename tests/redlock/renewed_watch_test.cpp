#include "core/rounds_fixture.hpp"
#include "core/store_url.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/keeper.hpp"
#include "engines/redlock/open.hpp"
#include "engines/redlock/waiters.hpp"
#include "io/thread/notice.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace holdfast::redlock_tests {

namespace {

namespace engine = engines::redlock;

/// A keeper whose only request waits for what somebody else has, and who watches it, with one watch
/// after another.
class redlock_renewed_watch : public ::testing::Test {
 protected:
  void SetUp() override {
    nodes_.everywhere({"SET", "wanted", "stranger", "PX", "600000"});
    std::promise<core::status> is_open, is_there;
    keeper_->open([&](const core::open_reply& r) { is_open.set_value(r.what); });
    ASSERT_EQ(is_open.get_future().get(), core::status::ok);
    core::enqueue_request r;
    r.name = lock_name("wanted");
    r.request = 1;
    keeper_->enqueue(r, [&](const core::queue_view& v) { is_there.set_value(v.what); });
    ASSERT_EQ(is_there.get_future().get(), core::status::queued);
  }
  void TearDown() override {
    keeper_->drop({.what = core::status::gone});
    drain();
  }

  static std::string text(std::uint64_t n) { return "held by number " + std::to_string(n); }
  /// As its contender says it; that one's own numbers are small.
  void hindered(std::uint64_t n) {
    contender_of_->hindered({1, 1}, first_ + n, {.what = core::status::queued, .text = text(n)});
  }
  std::string confirm() {
    std::string heard;
    keeper_->confirm(1, [&](const core::queue_view& v) { heard = v.text; });
    return heard;
  }
  void watch() {
    fired_ = std::make_shared<std::atomic<bool>>();
    watch_ = std::make_shared<io::notice>([fired = fired_] { *fired = true; });
    keeper_->watch(1, watch_);
  }
  /// As a client does: the old one is there until the new one is.
  void watch_anew() {
    const auto old = watch_;
    watch();
    old->disarm();
  }
  bool is_told() {
    drain();
    return *fired_;
  }

 private:
  /// What was posted to the loop before has been done.
  void drain() {
    std::promise<void> done;
    cluster_->loop().post([&] { done.set_value(); });
    done.get_future().get();
  }
  static core::session_record draft() {
    core::session_record s;
    s.ttl = 60s;
    return s;
  }

  static constexpr std::uint64_t first_ = 1'000;
  five_nodes nodes_{3};
  const std::string url_{nodes_.url("ttl=60s&tokens=off&assume_fresh=yes")};
  std::shared_ptr<core::engine> engine_{
      engine::open_redlock(*core::store_url::parse(url_)).value().engine};
  std::shared_ptr<engine::cluster> cluster_{
      dynamic_cast<engine::redlock_engine&>(*engine_).nodes()};
  std::shared_ptr<engine::keeper> keeper_{std::make_shared<engine::keeper>(
      cluster_, std::make_shared<engine::waiters>(cluster_), draft())};
  std::shared_ptr<engine::contender::listener> contender_of_{keeper_};
  std::shared_ptr<std::atomic<bool>> fired_;

 protected:
  std::shared_ptr<io::notice> watch_;
};

TEST_F(redlock_renewed_watch, is_told_what_came_when_the_old_one_heard_nothing_any_more) {
  watch();
  EXPECT_FALSE(is_told());
  confirm();
  watch_->disarm();
  hindered(1);
  watch();
  EXPECT_TRUE(is_told());
  EXPECT_EQ(confirm(), text(1));
  watch_anew();
  EXPECT_FALSE(is_told()) << "what was confirmed is no news";
  hindered(2);
  EXPECT_TRUE(is_told());
  for (int n = 0; n < 2; ++n) {
    watch_anew();
    EXPECT_TRUE(is_told()) << "it was not confirmed yet";
  }
}

TEST_F(redlock_renewed_watch, is_told_what_comes_in_that_moment_unless_it_was_confirmed) {
  const auto rounds = static_cast<std::uint64_t>(core::shortened(4'000));
  std::uint64_t missed{};
  watch();
  std::barrier both(2);
  std::jthread tells([&] {
    for (std::uint64_t n = 1; n <= rounds; ++n) {
      both.arrive_and_wait();
      hindered(n);
      both.arrive_and_wait();
    }
  });
  for (std::uint64_t n = 1; n <= rounds; ++n) {
    both.arrive_and_wait();
    const std::string heard = confirm();
    watch_anew();
    both.arrive_and_wait();
    if (heard != text(n) && !is_told()) ++missed;
  }
  EXPECT_EQ(missed, 0U) << "of " << rounds;
}

}  // namespace

}  // namespace holdfast::redlock_tests
