#include "io/redis/redis_pipeline.hpp"

#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

using taking = redis_pipeline::taking;
using tags = std::vector<std::uint64_t>;

class deaf_listener final : public stream::listener {
  void opened() override {}
  void names_hang(const std::string&) override {}
  void late() override {}
  std::span<char> space() override { return {}; }
  void received(std::size_t) override {}
  void lost(const error&) override {}
};

/// With a stream that never begins to connect, and so keeps all that it is given.
class redis_pipeline_test : public testing::Test {
 protected:
  static constexpr std::size_t bytes_max = 1000;
  static constexpr std::size_t unanswered_max = 20;

  static time_point at(int milliseconds) {
    return time_point{} + std::chrono::milliseconds{milliseconds};
  }
  static tags tags_of(const std::vector<redis_request>& from) {
    tags all;
    for (const auto& r : from) all.push_back(r.tag);
    return all;
  }

  redis_pipeline_test() : events_(std::make_shared<deaf_listener>()) { open(); }

  void open() {
    stream_ = stream::make(loop_, {}, events_, std::make_shared<stream::counters>());
    pipeline.open(stream_);
  }
  static redis_pipeline::command command(std::uint64_t tag, std::string_view bytes = "PING",
                                         time_point deadline = time_point::max()) {
    return {.bytes = bytes, .deadline = deadline, .receiver = nullptr, .tag = tag};
  }
  taking here(std::uint64_t tag, std::string_view bytes = "PING") {
    return pipeline.send_here(command(tag, bytes));
  }
  taking elsewhere(std::uint64_t tag, std::string_view bytes = "PING") {
    return pipeline.send_elsewhere(command(tag, bytes));
  }
  /// Of all, without a command that the peer may have seen.
  std::vector<redis_request> end() { return pipeline.end(0); }

  redis_pipeline pipeline{{.queued_bytes = bytes_max, .unanswered = unanswered_max}};

 private:
  const std::shared_ptr<loop> loop_{*loop::start()};
  const std::shared_ptr<deaf_listener> events_;
  std::shared_ptr<stream> stream_;
};

TEST_F(redis_pipeline_test, all_stand_in_the_order_of_sending_whoever_sends) {
  EXPECT_EQ(elsewhere(1), taking::taken);
  EXPECT_EQ(here(2), taking::taken);
  EXPECT_EQ(here(3), taking::taken);
  EXPECT_EQ(elsewhere(4), taking::taken) << "behind the outbox";
  EXPECT_EQ(elsewhere(5), taking::taken);
  EXPECT_EQ(here(6), taking::taken);
  pipeline.empty_outbox();
  EXPECT_EQ(elsewhere(7), taking::taken);
  const auto all = end();
  EXPECT_EQ(tags_of(all), (tags{1, 2, 3, 4, 5, 6, 7}));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].place, i * 4) << all[i].tag;
}

TEST_F(redis_pipeline_test, what_gathers_is_owed_no_answer_before_it_has_left) {
  EXPECT_FALSE(pipeline.is_owed());
  EXPECT_TRUE(pipeline.is_idle());
  here(1);
  EXPECT_FALSE(pipeline.is_owed());
  EXPECT_FALSE(pipeline.is_idle());
  pipeline.empty_outbox();
  ASSERT_TRUE(pipeline.is_owed());
  here(2);
  ASSERT_TRUE(pipeline.is_owed()) << "the first one still is";
  EXPECT_EQ(pipeline.take_front().tag, 1U);
  EXPECT_FALSE(pipeline.is_owed());
}

TEST_F(redis_pipeline_test, what_others_send_is_owed_an_answer_at_once) {
  elsewhere(1);
  ASSERT_TRUE(pipeline.is_owed());
  EXPECT_EQ(pipeline.front().tag, 1U);
  EXPECT_EQ(pipeline.unanswered(), 1U);
  EXPECT_EQ(pipeline.take_front().tag, 1U);
  EXPECT_EQ(pipeline.unanswered(), 0U);
  EXPECT_EQ(pipeline.sent(), 1U);
  EXPECT_TRUE(pipeline.is_idle());
}

TEST_F(redis_pipeline_test, only_what_may_fill_it_finds_room_in_the_second_half) {
  auto filling = command(9);
  filling.may_fill = true;
  for (std::uint64_t tag = 0; tag < unanswered_max / 2; ++tag) {
    EXPECT_EQ(tag % 2 == 0 ? here(tag) : elsewhere(tag), taking::taken);
  }
  EXPECT_EQ(here(5), taking::full);
  EXPECT_EQ(elsewhere(5), taking::full);
  for (std::size_t i = unanswered_max / 2; i < unanswered_max; ++i) {
    EXPECT_EQ(pipeline.send_elsewhere(filling), taking::taken);
  }
  EXPECT_EQ(pipeline.send_here(filling), taking::full);
  EXPECT_EQ(pipeline.send_elsewhere(filling), taking::full);
}

TEST_F(redis_pipeline_test, bytes_that_have_not_left_are_limited_wherever_they_wait) {
  const std::string half(bytes_max / 2, 'x');
  const std::string quarter(bytes_max / 4, 'x');
  EXPECT_EQ(here(1, half + "x"), taking::full);
  EXPECT_EQ(here(1, quarter), taking::taken) << "in the outbox";
  EXPECT_EQ(here(2, quarter + "x"), taking::full);
  EXPECT_EQ(elsewhere(2, quarter), taking::taken) << "behind the outbox, which is not counted yet";
  EXPECT_EQ(elsewhere(3, half), taking::full);
  pipeline.empty_outbox();
  EXPECT_EQ(pipeline.backlog(), 2 * quarter.size());
  EXPECT_EQ(elsewhere(3), taking::full);
  EXPECT_EQ(here(3), taking::full);
}

TEST_F(redis_pipeline_test, nothing_that_is_due_is_overlooked_wherever_it_waits) {
  pipeline.send_elsewhere(command(1, "PING", at(10)));
  pipeline.send_here(command(2, "PING", at(20)));
  pipeline.send_elsewhere(command(3, "PING", at(30)));
  pipeline.send_elsewhere(command(4, "PING", at(40)));
  EXPECT_EQ(tags_of(pipeline.take_due(at(30))), (tags{1, 2, 3}));
  EXPECT_EQ(pipeline.next_deadline(), at(40));
  pipeline.send_elsewhere(command(5, "PING", at(5)));
  EXPECT_EQ(tags_of(pipeline.take_due(at(30))), (tags{5}));
}

TEST_F(redis_pipeline_test, that_has_ended_takes_nothing_until_it_is_opened_again) {
  elsewhere(1);
  here(2);
  elsewhere(3);
  const auto left = pipeline.end(100);
  EXPECT_EQ(tags_of(left), (tags{1, 2, 3}));
  EXPECT_LT(left[0].place, 100U) << "the peer may have seen it";
  EXPECT_GE(left[2].place, 100U) << "it never got into the stream";
  EXPECT_EQ(pipeline.unanswered(), 0U);
  EXPECT_EQ(pipeline.backlog(), 0U);
  EXPECT_EQ(elsewhere(4), taking::closed);
  open();
  EXPECT_EQ(elsewhere(5), taking::taken);
  EXPECT_EQ(here(6), taking::taken);
  EXPECT_EQ(tags_of(end()), (tags{5, 6}));
}

TEST_F(redis_pipeline_test, each_thread_finds_its_commands_in_its_own_order) {
  constexpr std::uint64_t threads = 3;
  constexpr std::uint64_t each = 2000;
  redis_pipeline wide({.queued_bytes = 1 << 30, .unanswered = 1 << 30});
  const auto l = *loop::start();
  const auto events = std::make_shared<deaf_listener>();
  wide.open(stream::make(l, {}, events, std::make_shared<stream::counters>()));
  std::vector<std::thread> others;
  for (std::uint64_t who = 1; who < threads; ++who) {
    others.emplace_back([&wide, who] {
      for (std::uint64_t i = 0; i < each; ++i) wide.send_elsewhere(command(who * each + i));
    });
  }
  // In the place of the loop's thread.
  for (std::uint64_t i = 0; i < each; ++i) {
    wide.send_here(command(i));
    if (i % 7 == 0) wide.empty_outbox();
  }
  for (auto& t : others) t.join();
  std::vector<std::uint64_t> next(threads);
  std::uint64_t place = 0;
  wide.empty_outbox();
  for (const auto& r : wide.end(0)) {
    EXPECT_EQ(r.tag % each, next[r.tag / each]++);
    EXPECT_EQ(r.place, place);
    place += 4;
  }
  EXPECT_EQ(next, (std::vector<std::uint64_t>{each, each, each}));
}

}  // namespace
}  // namespace holdfast::io
