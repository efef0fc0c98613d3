#include "engines/zookeeper/batch.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace holdfast::engines::zookeeper {
namespace {

using core::status;

/// A read and a write, whose answers are given by their codes.
class zookeeper_batch : public testing::Test {
 protected:
  /// What judge() finds after one more try.
  std::optional<zoo_code> try_with(batch& b, zoo_code read, zoo_code write) {
    b.begin_try(time_point{});
    EXPECT_FALSE(b.took(0, {.code = read}));
    EXPECT_TRUE(b.took(1, {.code = write}));
    const auto* bad = b.judge();
    return bad == nullptr ? std::nullopt : std::optional(bad->code);
  }
  batch made(repeat how, zoo_request read = get("/a")) {
    return {{std::move(read), remove("/b")}, how, {}, [this](batch_result r) {
              ++times_told;
              told = std::move(r);
            }};
  }

  int times_told{};
  batch_result told;
};

TEST_F(zookeeper_batch, that_is_answered_tells_all_answers_once) {
  auto b = made(repeat::never);
  EXPECT_FALSE(try_with(b, zoo_code::no_node, zoo_code::bad_version));
  b.succeed();
  b.fail("too late");
  EXPECT_EQ(times_told, 1);
  EXPECT_EQ(told.what, status::ok);
  ASSERT_EQ(told.replies.size(), 2U);
  EXPECT_EQ(told.replies[1].code, zoo_code::bad_version);
}

TEST_F(zookeeper_batch, whose_write_was_lost_may_be_done_and_is_not_sent_again) {
  auto b = made(repeat::never);
  EXPECT_EQ(try_with(b, zoo_code::ok, zoo_code::connection_lost), zoo_code::connection_lost);
  EXPECT_TRUE(b.may_be_done());
  EXPECT_FALSE(b.may_repeat());
  b.fail("lost");
  EXPECT_EQ(told.what, status::unknown);
  EXPECT_EQ(told.text, "lost");
}

TEST_F(zookeeper_batch, whose_write_was_refused_was_not_done) {
  auto b = made(repeat::never);
  EXPECT_EQ(try_with(b, zoo_code::ok, zoo_code::not_allowed), zoo_code::not_allowed);
  EXPECT_FALSE(b.may_be_done());
  EXPECT_TRUE(b.may_repeat());
  b.fail("refused");
  EXPECT_EQ(told.what, status::unavailable);
}

TEST_F(zookeeper_batch, of_which_only_the_write_was_answered_is_done) {
  auto b = made(repeat::never);
  EXPECT_EQ(try_with(b, zoo_code::connection_lost, zoo_code::ok), zoo_code::connection_lost);
  EXPECT_TRUE(b.may_be_done());
}

TEST_F(zookeeper_batch, of_which_only_a_read_was_lost_was_not_done) {
  for (const auto& read : {get("/a"), children_of("/a"), access_of("/a"), sync("/a")}) {
    auto b = made(repeat::never, read);
    EXPECT_EQ(try_with(b, zoo_code::connection_lost, zoo_code::no_node), zoo_code::connection_lost);
    EXPECT_TRUE(b.may_repeat());
  }
}

TEST_F(zookeeper_batch, may_be_done_for_good_once_a_try_may_have_been) {
  auto b = made(repeat::always);
  EXPECT_TRUE(try_with(b, zoo_code::ok, zoo_code::connection_lost));
  EXPECT_TRUE(b.may_repeat());
  EXPECT_TRUE(try_with(b, zoo_code::ok, zoo_code::throttled));
  EXPECT_TRUE(b.may_be_done());
  b.fail("time is over");
  EXPECT_EQ(told.what, status::unknown);
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
