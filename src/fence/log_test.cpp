#include "tests/fence/log_machine.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/log_reader.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

namespace holdfast {
namespace {

using tests::bytes_of;
using tests::disk_call;
using tests::log_machine;
using tests::text_of;
using tests::with;
using texts = std::vector<std::string>;

TEST(fenced_log, gives_records_the_numbers_of_their_order) {
  log_machine m(1);
  const auto log = m.must_open(1);
  EXPECT_EQ(log->append(bytes_of("a"), survives::kill)->value, 1U);
  EXPECT_EQ(log->append(bytes_of(""), survives::power_loss)->value, 2U);
  EXPECT_EQ(log->append(bytes_of("c"), survives::kill)->value, 3U);
  EXPECT_EQ(m.all(), (texts{"a", "", "c"}));
}

TEST(fenced_log, refuses_a_writer_that_was_replaced_and_keeps_what_it_acknowledged) {
  log_machine m(1);
  const auto old = m.must_open(1);
  ASSERT_TRUE(old->append(bytes_of("a"), survives::kill));
  const auto fresh = m.must_open(2);
  EXPECT_EQ(old->append(bytes_of("late"), survives::kill).error(), errc::stale_token);
  EXPECT_EQ(old->sync().error(), errc::stale_token);
  EXPECT_EQ(old->seal().error(), errc::stale_token);
  EXPECT_EQ(fresh->append(bytes_of("b"), survives::kill)->value, 2U);
  EXPECT_EQ(fresh->opened().before.value, 1U);
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
  EXPECT_EQ(m.open(1).error(), errc::stale_token);
}

TEST(fenced_log, lets_the_same_token_in_again_and_ends_its_earlier_opening) {
  log_machine m(1);
  const auto first = m.must_open(7);
  ASSERT_TRUE(first->append(bytes_of("a"), survives::kill));
  const auto second = m.must_open(7);
  EXPECT_EQ(first->append(bytes_of("late"), survives::kill).error(), errc::stale_token);
  ASSERT_TRUE(second->append(bytes_of("b"), survives::kill));
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
}

TEST(fenced_log, lets_one_token_open_it_2047_times) {
  log_machine m(1);
  for (int i = 0; i < 2047; ++i) ASSERT_TRUE(m.open(7)) << i;
  const auto refused = m.open(7);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::stale_token);
  EXPECT_NE(refused.error().message().find("2047 times"), std::string::npos);
  EXPECT_TRUE(m.open(8));
}

TEST(fenced_log, refuses_tokens_that_cannot_be_compared) {
  log_machine m(1);
  ASSERT_TRUE(m.open(1));
  EXPECT_EQ(m.open(0).error(), errc::invalid_argument);
  EXPECT_EQ(m.open(token_max.value + 1).error(), errc::invalid_argument);
  auto other = with(9);
  other.from.lock = lock_name("other");
  const auto refused = fencing::log_owner::open(m.ground(), other, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::invalid_argument);
  EXPECT_NE(refused.error().message().find("other"), std::string::npos);
  other = with(9);
  other.from.store = store_identity("test/2");
  EXPECT_EQ(fencing::log_owner::open(m.ground(), other, {}).error(), errc::invalid_argument);
  EXPECT_TRUE(m.open(token_max.value));
}

TEST(fenced_log, refuses_options_and_records_out_of_range) {
  log_machine m(1);
  EXPECT_EQ(m.open(1, {.segment_bytes = 4095}).error(), errc::invalid_argument);
  EXPECT_EQ(m.open(1, {.segment_bytes = (1U << 30) + 1U}).error(), errc::invalid_argument);
  EXPECT_EQ(m.open(1, {.reserve_bytes = (1U << 30) + 1U}).error(), errc::invalid_argument);
  const auto log = m.must_open(1);
  const std::vector<std::byte> longest(fencing::record_bytes_max);
  const std::vector<std::byte> longer(fencing::record_bytes_max + 1);
  EXPECT_EQ(log->append(longer, survives::kill).error(), errc::invalid_argument);
  EXPECT_EQ(log->append(longest, survives::kill)->value, 1U);
  EXPECT_EQ(m.all().front().size(), longest.size());
}

TEST(fenced_log, is_not_made_with_options_out_of_range) {
  const tests::temporary_directory files;
  const std::string at = files.path() + "/log";
  EXPECT_EQ(fenced_log::open(at, with(1), {.segment_bytes = 1}).error(), errc::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(at));
}

TEST(fenced_log, takes_no_path_that_another_program_reads_otherwise) {
  const tests::temporary_directory files;
  const std::string cut = files.path() + "/a";
  for (const std::string& path : {std::string(), std::string("a"), cut + std::string("\0b", 2)}) {
    EXPECT_EQ(fenced_log::open(path, with(1)).error(), errc::invalid_argument) << path;
    EXPECT_EQ(log_reader::open(path).error(), errc::invalid_argument) << path;
    EXPECT_EQ(seal_log(path, with(1)).error(), errc::invalid_argument) << path;
  }
  EXPECT_FALSE(std::filesystem::exists(cut));
}

TEST(fenced_log, goes_on_in_a_new_segment_when_one_is_full) {
  log_machine m(1);
  const auto log = m.must_open(1, {.segment_bytes = 4096});
  const std::string record(1000, 'x');
  for (std::uint64_t i = 1; i <= 20; ++i) {
    ASSERT_EQ(log->append(bytes_of(record), survives::kill)->value, i);
  }
  EXPECT_EQ(m.all().size(), 20U);
  const auto from = m.must_read({.from = {18}});
  EXPECT_EQ((*from->next())->number.value, 18U);
}

TEST(fenced_log, seals_for_good_and_is_opened_anew) {
  log_machine m(1);
  const auto log = m.must_open(3);
  ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
  EXPECT_EQ(log->seal()->value, 2U);
  EXPECT_EQ(log->append(bytes_of("b"), survives::kill).error(), errc::invalid_argument);
  EXPECT_EQ(m.all(), texts{"a"});
  const auto again = m.must_open(3);
  EXPECT_EQ(again->append(bytes_of("b"), survives::kill)->value, 2U);
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
}

TEST(fenced_log, discards_whole_segments_and_tells_readers_that_were_behind) {
  log_machine m(1);
  const auto log = m.must_open(1, {.segment_bytes = 4096});
  const auto behind = m.must_read();
  const std::string record(2000, 'x');
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(log->append(bytes_of(record), survives::kill));
  EXPECT_EQ(log->discard_before({6})->value, 5U);
  const auto next = behind->next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error(), errc::unavailable);
  EXPECT_EQ(*behind->skip(), 4U);
  EXPECT_EQ((*behind->next())->number.value, 5U);
  EXPECT_EQ(*behind->skip(), 0U);
  EXPECT_EQ(m.all().size(), 6U);
}

TEST(fenced_log, merges_what_many_takeovers_leave) {
  log_machine m(1);
  texts written;
  for (std::uint64_t t = 1; t <= 20; ++t) {
    const auto log = m.must_open(t);
    written.push_back("record " + std::to_string(t));
    ASSERT_TRUE(log->append(bytes_of(written.back()), survives::kill));
  }
  const auto reader = m.must_read();
  ASSERT_TRUE(*reader->next());
  const std::size_t files = m.disk().names().size();
  const auto log = m.must_open(21);
  EXPECT_EQ(*log->compact(), 19U);
  EXPECT_LT(m.disk().names().size() + 15, files);
  EXPECT_EQ(m.all(), written);
  EXPECT_EQ(text_of((*reader->next())->bytes), "record 2");
  EXPECT_EQ(*log->compact(), 0U);
}

TEST(log_reader, waits_at_the_end_and_goes_on_over_a_takeover) {
  log_machine m(1);
  const auto first = m.must_open(1);
  const auto reader = m.must_read();
  EXPECT_FALSE(*reader->next());
  ASSERT_TRUE(first->append(bytes_of("a"), survives::kill));
  EXPECT_EQ(text_of((*reader->next())->bytes), "a");
  EXPECT_FALSE(*reader->next());
  const auto second = m.must_open(2);
  EXPECT_FALSE(*reader->next());
  ASSERT_TRUE(second->append(bytes_of("b"), survives::kill));
  const auto got = *reader->next();
  EXPECT_EQ(text_of(got->bytes), "b");
  EXPECT_EQ(got->number.value, 2U);
  EXPECT_EQ(got->writer.value, 2U);
}

TEST(log_reader, of_what_survives_a_power_loss_returns_only_that) {
  log_machine m(1);
  const auto log = m.must_open(1);
  const auto careful = m.must_read({.durability = survives::power_loss});
  ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
  EXPECT_FALSE(*careful->next());
  EXPECT_EQ(m.all(), texts{"a"});
  ASSERT_TRUE(log->sync());
  EXPECT_EQ(text_of((*careful->next())->bytes), "a");
}

TEST(log_reader, without_a_boot_id_takes_no_mark_for_one_of_another_boot) {
  for (const bool writer_too : {false, true}) {
    log_machine m(1);
    if (writer_too) m.hide_boot();
    const auto log = m.must_open(1);
    ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
    m.hide_boot();
    EXPECT_EQ(m.all(), texts{"a"});
    const auto careful = m.must_read({.durability = survives::power_loss});
    const auto next = careful->next();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error(), errc::unavailable);
    EXPECT_NE(next.error().message().find("mark.1.1.0"), std::string::npos);
    // A takeover says how much is on the disk.
    ASSERT_TRUE(m.open(2));
    EXPECT_EQ(text_of((*careful->next())->bytes), "a");
  }
}

TEST(log_reader, without_a_boot_id_returns_nothing_that_a_takeover_may_cut) {
  log_machine m(1);
  const auto log = m.must_open(1);
  ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
  m.hide_boot();
  const auto reader = m.must_read();
  m.disk().before(disk_call::link, [&] {
    const auto next = reader->next();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error(), errc::unavailable);
  });
  ASSERT_TRUE(m.open(2));
  EXPECT_EQ(text_of((*reader->next())->bytes), "a");
}

TEST(log_reader, finds_no_log_where_there_is_none) {
  log_machine m(1);
  EXPECT_EQ(m.read().error(), errc::unavailable);
  ASSERT_TRUE(m.open(1));
  EXPECT_EQ(m.all(), texts{});
}

}  // namespace
}  // namespace holdfast
