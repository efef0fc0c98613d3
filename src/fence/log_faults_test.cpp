#include "core/rounds_fixture.hpp"
#include "fence/log_names.hpp"
#include "tests/fence/log_story.hpp"

#include <gtest/gtest.h>

#include <cerrno>

/// Calls that fail, and a disk that fills up.

namespace holdfast {
namespace {

using tests::bytes_of;
using tests::disk_call;
using tests::log_machine;
using tests::text_of;
using texts = std::vector<std::string>;

TEST(log_faults, a_short_write_is_gone_on_with) {
  log_machine m(1);
  m.disk().write_shortly();
  const auto log = m.must_open(1);
  texts written;
  for (int i = 0; i < 50; ++i) {
    written.push_back("record " + std::to_string(i));
    ASSERT_TRUE(log->append(bytes_of(written.back()), survives::kill));
  }
  EXPECT_EQ(m.all(), written);
}

TEST(log_faults, a_failed_write_is_unknown_and_ends_the_writer) {
  log_machine m(1);
  const auto log = m.must_open(1);
  ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
  m.disk().fail_all(disk_call::write, EIO);
  EXPECT_EQ(log->append(bytes_of("b"), survives::kill).error(), errc::outcome_unknown);
  m.disk().fail_all(disk_call::write, 0);
  const auto stopped = log->append(bytes_of("c"), survives::kill);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error(), errc::unavailable);
  EXPECT_NE(stopped.error().message().find("open the log anew"), std::string::npos);
  const auto again = m.must_open(1);
  ASSERT_TRUE(again->append(bytes_of("d"), survives::kill));
  const auto all = m.all();
  EXPECT_EQ(all.front(), "a");
  EXPECT_EQ(all.back(), "d");
  EXPECT_EQ(std::count(all.begin(), all.end(), "c"), 0);
}

TEST(log_faults, a_failed_sync_ends_the_writer_and_is_never_tried_again) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    log_machine m(seed);
    const auto log = m.must_open(1);
    ASSERT_TRUE(log->append(bytes_of("a"), survives::power_loss));
    ASSERT_TRUE(log->append(bytes_of("b"), survives::kill));
    m.disk().fail_all(disk_call::sync, EIO);
    EXPECT_EQ(log->append(bytes_of("c"), survives::power_loss).error(), errc::outcome_unknown);
    m.disk().fail_all(disk_call::sync, 0);
    EXPECT_EQ(log->sync().error(), errc::unavailable);
    // The next one reads what the kernel still shows and will never write, and copies it. Once it
    // is sealed, no power loss takes it.
    ASSERT_TRUE(m.open(2));
    EXPECT_EQ(m.all(survives::power_loss), (texts{"a", "b", "c"}));
    m.lose_power();
    ASSERT_TRUE(m.open(3));
    EXPECT_EQ(m.all(), (texts{"a", "b", "c"})) << "seed " << seed;
  }
}

TEST(log_faults, a_failed_sync_is_not_forgotten_by_who_cannot_read_the_boot_id) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    log_machine m(seed);
    const auto log = m.must_open(1);
    ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
    m.disk().fail_all(disk_call::sync, EIO);
    EXPECT_EQ(log->sync().error(), errc::outcome_unknown);
    m.disk().fail_all(disk_call::sync, 0);
    m.hide_boot();
    ASSERT_TRUE(m.open(2));
    m.lose_power();
    ASSERT_TRUE(m.open(3));
    EXPECT_EQ(m.all(), texts{"a"}) << "seed " << seed;
  }
}

TEST(log_faults, a_sealers_failed_sync_is_not_tried_again_either) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    log_machine m(seed);
    const auto log = m.must_open(1);
    ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
    m.disk().fail_all(disk_call::sync, EIO);
    EXPECT_EQ(m.open(2).error(), errc::unavailable);
    m.disk().fail_all(disk_call::sync, 0);
    ASSERT_TRUE(m.open(2));
    m.lose_power();
    ASSERT_TRUE(m.open(3));
    EXPECT_EQ(m.all(), texts{"a"}) << "seed " << seed;
  }
}

TEST(log_faults, a_full_disk_is_noticed_before_the_write_and_loses_nothing) {
  log_machine m(1);
  const auto log = m.must_open(1, {.reserve_bytes = 4096});
  const std::string record(1000, 'x');
  m.disk().limit_bytes(24'000);
  std::size_t acknowledged = 0;
  for (;; ++acknowledged) {
    const auto got = log->append(bytes_of(record), survives::kill);
    if (got) continue;
    EXPECT_EQ(got.error(), errc::unavailable);
    EXPECT_NE(got.error().message().find("No space left"), std::string::npos);
    break;
  }
  EXPECT_GE(acknowledged, 4U);
  EXPECT_EQ(m.all().size(), acknowledged);
  m.disk().limit_bytes(UINT64_MAX);
  EXPECT_EQ(log->append(bytes_of(record), survives::kill)->value, acknowledged + 1);
  EXPECT_EQ(m.all().size(), acknowledged + 1);
}

TEST(log_faults, a_discard_frees_space_on_a_full_disk) {
  log_machine m(1);
  const auto log = m.must_open(1, {.segment_bytes = 4096, .reserve_bytes = 4096});
  const std::string record(1000, 'x');
  m.disk().limit_bytes(60'000);
  std::uint64_t last = 0;
  for (;;) {
    const auto got = log->append(bytes_of(record), survives::kill);
    if (!got) break;
    last = got->value;
  }
  // Somebody else takes what is left, but for what is reserved.
  m.disk().limit_bytes(m.disk().used_bytes());
  EXPECT_EQ(log->append(bytes_of(record), survives::kill).error(), errc::unavailable);
  const auto left = log->discard_before({last});
  ASSERT_TRUE(left) << left.error().message();
  EXPECT_GT(left->value, 4U);
  EXPECT_EQ(log->append(bytes_of(record), survives::kill)->value, last + 1);
  EXPECT_EQ(m.all().size(), last + 2 - left->value);
}

TEST(log_faults, a_writer_that_discards_again_and_again_leaves_nothing_behind) {
  log_machine m(1);
  const auto log = m.must_open(1, {.segment_bytes = 4096});
  const std::string record(2500, 'x');
  std::size_t most = 0;
  for (int i = 0; i < 200; ++i) {
    const auto got = log->append(bytes_of(record), survives::kill);
    ASSERT_TRUE(got) << got.error().message();
    if (i % 10 == 9) {
      ASSERT_TRUE(log->discard_before({got->value}));
      if (i == 19) most = m.disk().names().size();
    }
  }
  EXPECT_EQ(m.disk().names().size(), most);
}

/// What does not fit must not be seen, and then nothing has changed.
TEST(log_faults, a_change_for_which_there_is_no_room_leaves_the_writer_as_it_was) {
  const std::string record(2500, 'x');
  for (const auto call :
       {disk_call::create, disk_call::write, disk_call::reserve, disk_call::link}) {
    SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)));
    log_machine m(1);
    const auto log = m.must_open(1, {.segment_bytes = 4096});
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(log->append(bytes_of(record), survives::kill));
    ASSERT_TRUE(log->append(bytes_of("short"), survives::kill));
    const auto names = m.disk().names();
    m.disk().fail_all(call, ENOSPC);
    EXPECT_EQ(log->append(bytes_of(record), survives::kill).error(), errc::unavailable);
    if (call != disk_call::reserve) {
      EXPECT_EQ(log->discard_before({2}).error(), errc::unavailable);
      EXPECT_EQ(log->seal().error(), errc::unavailable);
    }
    EXPECT_EQ(m.disk().names(), names);
    m.disk().fail_all(call, 0);
    EXPECT_EQ(log->append(bytes_of(record), survives::power_loss)->value, 5U);
    EXPECT_EQ(log->discard_before({2})->value, 2U);
    EXPECT_EQ(m.all().size(), 4U);
    EXPECT_EQ(log->seal()->value, 6U);
  }
}

TEST(log_faults, a_merge_for_which_there_is_no_room_leaves_nothing_behind) {
  for (const auto call : {disk_call::create, disk_call::write, disk_call::link}) {
    SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)));
    log_machine m(1);
    for (std::uint64_t t = 1; t <= 3; ++t) {
      ASSERT_TRUE(m.must_open(t)->append(bytes_of("a"), survives::kill));
    }
    const auto log = m.must_open(4);
    const auto names = m.disk().names();
    m.disk().fail_all(call, ENOSPC);
    EXPECT_EQ(log->compact().error(), errc::unavailable);
    EXPECT_EQ(m.disk().names(), names);
    m.disk().fail_all(call, 0);
    EXPECT_EQ(*log->compact(), 2U);
    EXPECT_EQ(m.all(), (texts{"a", "a", "a"}));
  }
}

TEST(log_faults, a_change_that_others_may_see_stops_the_writer_when_it_fails) {
  for (const auto call : {disk_call::link, disk_call::sync_directory}) {
    log_machine m(1);
    const auto log = m.must_open(1);
    ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
    m.disk().fail_all(call, EIO);
    EXPECT_EQ(log->seal().error(), errc::unavailable);
    m.disk().fail_all(call, 0);
    const auto stopped = log->append(bytes_of("b"), survives::kill);
    ASSERT_FALSE(stopped);
    EXPECT_NE(stopped.error().message().find("open the log anew"), std::string::npos);
    EXPECT_EQ(m.all(), texts{"a"});
  }
}

TEST(log_faults, any_one_call_that_fails_loses_nothing_that_was_acknowledged) {
  const int stories = core::shortened(core::rounds(6, 500));
  for (const int code : {EIO, ENOSPC}) {
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(stories); ++seed) {
      for (std::uint64_t at = 1; at <= 150; ++at) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(at));
        tests::log_story story(seed);
        story.may_fail();
        story.machine().disk().fail_at(at, code);
        story.play(30, false);
        story.look();
        story.recover();
        if (HasFailure()) return;
      }
    }
  }
}

TEST(log_faults, a_missing_segment_is_reported_and_the_rest_is_served) {
  log_machine m(1);
  for (std::uint64_t t = 1; t <= 3; ++t) {
    const auto log = m.must_open(t);
    ASSERT_TRUE(log->append(bytes_of("record " + std::to_string(t)), survives::kill));
  }
  m.disk().forget("segment.2.1.0");
  const auto refused = m.open(4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::damaged);
  EXPECT_NE(refused.error().message().find("segment.2.1.0"), std::string::npos);
  const auto reader = m.must_read();
  EXPECT_EQ(text_of((*reader->next())->bytes), "record 1");
  EXPECT_EQ(reader->next().error(), errc::damaged);
  EXPECT_EQ(reader->next().error(), errc::damaged);
  EXPECT_EQ(*reader->skip(), 1U);
  EXPECT_EQ(text_of((*reader->next())->bytes), "record 3");
}

TEST(log_faults, a_segment_shorter_than_what_was_acknowledged_is_refused) {
  log_machine m(1);
  {
    const auto log = m.must_open(1);
    ASSERT_TRUE(log->append(bytes_of("a"), survives::power_loss));
    ASSERT_TRUE(log->append(bytes_of("b"), survives::power_loss));
  }
  const auto whole = m.disk().content("segment.1.1.0");
  for (const std::size_t left : {std::size_t{0}, std::size_t{1}, std::size_t{20}}) {
    auto content = whole;
    content.resize(left);
    m.disk().overwrite("segment.1.1.0", content);
    const auto refused = m.open(2 + left);
    ASSERT_FALSE(refused) << left;
    EXPECT_EQ(refused.error(), errc::damaged);
    EXPECT_NE(refused.error().message().find("segment.1.1.0"), std::string::npos);
  }
}

TEST(log_faults, a_corrupt_record_is_reported_and_the_next_segment_is_served) {
  log_machine m(1);
  for (std::uint64_t t = 1; t <= 2; ++t) {
    const auto log = m.must_open(t);
    for (const char* text : {"a", "b", "c"}) {
      ASSERT_TRUE(log->append(bytes_of(text), survives::kill));
    }
  }
  auto content = m.disk().content("segment.1.1.0");
  content[20] ^= std::byte{1};
  m.disk().overwrite("segment.1.1.0", content);
  const auto reader = m.must_read();
  EXPECT_EQ(text_of((*reader->next())->bytes), "a");
  const auto next = reader->next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error(), errc::damaged);
  EXPECT_NE(next.error().message().find("record 2"), std::string::npos);
  EXPECT_EQ(*reader->skip(), 2U);
  EXPECT_EQ((*reader->next())->number.value, 4U);
}

TEST(log_faults, a_missing_or_corrupt_inline_file_ends_the_certain_part) {
  for (const bool missing : {false, true}) {
    log_machine m(1);
    for (std::uint64_t t = 1; t <= 3; ++t) {
      const auto log = m.must_open(t);
      ASSERT_TRUE(log->append(bytes_of("record " + std::to_string(t)), survives::kill));
    }
    const std::string newest = fencing::inline_name(3);
    if (missing) {
      m.disk().forget(newest);
    } else {
      auto content = m.disk().content(newest);
      content[content.size() / 2] ^= std::byte{1};
      m.disk().overwrite(newest, content);
    }
    const auto refused = m.open(4);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::damaged);
    EXPECT_NE(refused.error().message().find(newest), std::string::npos);
    const auto reader = m.must_read();
    EXPECT_EQ(text_of((*reader->next())->bytes), "record 1");
    const auto next = reader->next();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error(), errc::damaged);
    EXPECT_EQ(reader->skip().error(), errc::damaged);
  }
}

TEST(log_faults, a_missing_inline_file_is_noticed_after_the_epoch_file_was_lost_too) {
  log_machine m(1);
  for (std::uint64_t t = 1; t <= 2; ++t) {
    const auto log = m.must_open(t);
    ASSERT_TRUE(log->append(bytes_of("record"), survives::kill));
  }
  m.disk().forget(fencing::inline_name(2));
  m.disk().overwrite("epoch", std::vector<std::byte>(4096));
  const auto refused = m.open(3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::damaged);
  EXPECT_NE(refused.error().message().find("segment.2.1.0"), std::string::npos);
}

TEST(log_faults, a_lost_epoch_word_lets_no_older_token_in) {
  log_machine m(1);
  {
    const auto log = m.must_open(5);
    ASSERT_TRUE(log->append(bytes_of("a"), survives::power_loss));
  }
  m.disk().overwrite("epoch", std::vector<std::byte>(4096));
  EXPECT_EQ(m.open(4).error(), errc::stale_token);
  EXPECT_EQ(m.all(), texts{"a"});
  // The same token gets another epoch than the one that wrote, and touches nothing of it.
  EXPECT_TRUE(m.open(5));
  EXPECT_EQ(m.all(), texts{"a"});
  m.disk().forget("epoch");
  EXPECT_EQ(m.open(6).error(), errc::damaged);
}

TEST(log_faults, directories_of_something_else_or_of_a_newer_version_are_refused) {
  log_machine foreign(1);
  foreign.disk().overwrite("letter.txt", {std::byte{'x'}});
  EXPECT_EQ(foreign.open(1).error(), errc::damaged);
  EXPECT_EQ(foreign.disk().names(), texts{"letter.txt"});

  log_machine newer(1);
  const std::string format = "holdfast-log 2\nanything\n";
  const auto bytes = bytes_of(format);
  newer.disk().overwrite("format", {bytes.begin(), bytes.end()});
  EXPECT_EQ(newer.open(1).error(), errc::unsupported);
  EXPECT_EQ(newer.read().error(), errc::unsupported);

  log_machine broken(1);
  ASSERT_TRUE(broken.open(1));
  auto content = broken.disk().content("format");
  content.back() ^= std::byte{1};
  content[content.size() - 3] ^= std::byte{1};
  broken.disk().overwrite("format", content);
  EXPECT_EQ(broken.open(2).error(), errc::damaged);
  broken.disk().overwrite("format", {});
  EXPECT_EQ(broken.open(2).error(), errc::damaged);
}

TEST(log_faults, what_a_crash_cut_short_is_counted_and_kept) {
  log_machine m(1);
  auto log = m.must_open(1);
  ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
  auto content = m.disk().content("segment.1.1.0");
  content.resize(content.size() + 7, std::byte{9});
  m.disk().overwrite("segment.1.1.0", content);
  const auto fresh = m.must_open(2);
  EXPECT_EQ(fresh->opened().bytes_cut, 7U);
  EXPECT_EQ(m.disk().content("segment.1.1.0").size(), content.size());
  EXPECT_EQ(m.all(), texts{"a"});
}

}  // namespace
}  // namespace holdfast
