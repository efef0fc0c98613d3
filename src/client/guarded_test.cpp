#include <holdfast/fence.hpp>
#include <holdfast/guarded.hpp>
#include <holdfast/session.hpp>

#include "client/outcome_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;

class guarded_test : public ::testing::Test {
 protected:
  session session_{std::move(open("memory:guarded_test").value())};
  lock held_{std::move(session_.acquire(lock_name("x")).value())};
  int ran_{};
  int undone_{};
};

TEST_F(guarded_test, a_write_gets_the_token_of_its_lock) {
  fenced_write save([](const fencing_token& t, int row) { return t.str() + std::to_string(row); });
  const auto saved = save(held_, 1ms, 7);
  ASSERT_TRUE(saved);
  EXPECT_EQ(*saved, held_.fencing_token()->str() + "7");
}

TEST_F(guarded_test, a_write_that_may_take_longer_than_the_lease_is_not_begun) {
  fenced_write save([&](const fencing_token&) { ++ran_; });
  EXPECT_EQ(code(save(held_, 10h)), errc::expiring);
  EXPECT_EQ(ran_, 0);
  EXPECT_TRUE(save(held_, 1ms));
  EXPECT_EQ(ran_, 1);
}

TEST_F(guarded_test, a_stale_token_of_the_storage_is_passed_on) {
  fence f;
  ASSERT_TRUE(f.raise(token{held_.token().value + 1}));
  fenced_write save([&](const fencing_token& t) { return f.admit(t); });
  EXPECT_EQ(code(save(held_, 1ms)), errc::stale_token);
}

TEST_F(guarded_test, an_operation_of_a_held_lock_is_not_undone) {
  const auto done = guarded(
      held_, 1ms, [&](const fencing_token&) { return ++ran_; }, [&] { ++undone_; });
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, 1);
  EXPECT_EQ(undone_, 0);
}

TEST_F(guarded_test, an_operation_during_which_the_lock_was_lost_is_undone) {
  const auto done = guarded(
      held_, 1ms,
      [&](const fencing_token&) {
        ++ran_;
        static_cast<void>(session_.close());
      },
      [&] { ++undone_; });
  EXPECT_EQ(code(done), errc::lost);
  EXPECT_EQ(ran_, 1);
  EXPECT_EQ(undone_, 1);
}

TEST_F(guarded_test, nothing_is_run_under_a_lost_lock) {
  ASSERT_TRUE(session_.close());
  const auto done = guarded(
      held_, duration::zero(), [&](const fencing_token&) { ++ran_; }, [&] { ++undone_; });
  EXPECT_EQ(code(done), errc::lost);
  EXPECT_EQ(ran_ + undone_, 0);
}

TEST_F(guarded_test, an_operation_for_which_too_little_is_left_is_not_run) {
  const auto run = [&] {
    return guarded(
        held_, 10h, [&](const fencing_token&) { ++ran_; }, [&] { ++undone_; });
  };
  EXPECT_EQ(code(run()), errc::expiring);
  EXPECT_TRUE(held_.check());
  ASSERT_TRUE(session_.close());
  EXPECT_EQ(code(run()), errc::lost);
  EXPECT_EQ(ran_ + undone_, 0);
}

TEST_F(guarded_test, an_operation_that_failed_is_not_undone) {
  const auto done = guarded(
      held_, 1ms, [](const fencing_token&) { return result<int>(errc::busy); }, [&] { ++undone_; });
  EXPECT_EQ(code(done), errc::busy);
  EXPECT_EQ(undone_, 0);
}

}  // namespace
}  // namespace holdfast
