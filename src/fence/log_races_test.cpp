#include "tests/fence/log_machine.hpp"

#include <gtest/gtest.h>

/// Two writers whose steps are interleaved on purpose.

namespace holdfast {
namespace {

using tests::bytes_of;
using tests::disk_call;
using tests::log_machine;
using texts = std::vector<std::string>;

TEST(log_races, admit_pause_newer_writer_write) {
  log_machine m(1);
  const auto old = m.must_open(1);
  ASSERT_TRUE(old->append(bytes_of("a"), survives::kill));
  log_machine::owner fresh;
  m.disk().before(disk_call::write, [&] {
    // The old writer has looked at its epoch and is about to write.
    fresh = m.must_open(2);
    ASSERT_TRUE(fresh->append(bytes_of("b"), survives::kill));
  });
  const auto late = old->append(bytes_of("late"), survives::kill);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error(), errc::stale_token);
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
  // Nor does it come back: not at the next seal, not after a power loss.
  ASSERT_TRUE(m.open(3));
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
  m.lose_power();
  ASSERT_TRUE(m.open(4));
  const auto left = m.all();
  EXPECT_EQ(std::count(left.begin(), left.end(), "late"), 0);
}

TEST(log_races, a_record_that_was_written_before_the_seal_is_not_told_stale) {
  log_machine m(1);
  const auto old = m.must_open(1);
  // The newer writer comes between the write and the look at the epoch: during the sync.
  m.disk().before(disk_call::sync, [&] { (void)m.must_open(2); });
  const auto appended = old->append(bytes_of("a"), survives::power_loss);
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error(), errc::outcome_unknown);
  EXPECT_EQ(m.all(), texts{"a"});
  EXPECT_EQ(old->append(bytes_of("b"), survives::kill).error(), errc::stale_token);
}

TEST(log_races, two_sealers_the_older_one_stopped_between_read_and_link) {
  log_machine m(1);
  const auto first = m.must_open(1);
  ASSERT_TRUE(first->append(bytes_of("a"), survives::kill));
  log_machine::owner newest;
  m.disk().before(disk_call::link, [&] {
    // The older sealer, with token 2, has read the length and is about to link.
    newest = m.must_open(3);
    ASSERT_TRUE(newest->append(bytes_of("b"), survives::kill));
    ASSERT_TRUE(newest->append(bytes_of("c"), survives::kill));
  });
  const auto older = m.open(2);
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error(), errc::stale_token);
  EXPECT_TRUE(newest->append(bytes_of("d"), survives::kill));
  EXPECT_EQ(m.all(), (texts{"a", "b", "c", "d"}));
}

TEST(log_races, two_sealers_the_older_one_links_first) {
  log_machine m(1);
  const auto first = m.must_open(1);
  ASSERT_TRUE(first->append(bytes_of("a"), survives::kill));
  m.disk().before(disk_call::link, [&] {
    // The newer sealer, with token 3, has read the version and is about to link the next.
    // What raised its epoch before that cannot link any more once it has looked.
    EXPECT_EQ(m.open(2).error(), errc::stale_token);
  });
  const auto newest = m.must_open(3);
  ASSERT_TRUE(newest->append(bytes_of("b"), survives::kill));
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
}

TEST(log_races, an_older_sealer_that_wins_the_link_is_sealed_by_the_newer_one) {
  log_machine m(1);
  const auto first = m.must_open(1);
  ASSERT_TRUE(first->append(bytes_of("a"), survives::kill));
  result<log_machine::owner> newer = errc::unavailable;
  m.disk().before(disk_call::link, [&] {
    // Token 2 is about to link. Token 3 raises the epoch and reads, and is stopped in its turn.
    m.disk().before(disk_call::link, [&] {
      // Here token 2 goes on: its link comes first.
      m.disk().before(disk_call::unlink, [] {});
    });
    newer = m.open(3);
  });
  const auto older = m.open(2);
  EXPECT_EQ(older.error(), errc::stale_token);
  ASSERT_TRUE(newer);
  ASSERT_TRUE((*newer)->append(bytes_of("b"), survives::kill));
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
}

TEST(log_races, a_stopped_sealer_truncates_nothing_when_it_wakes) {
  log_machine m(1);
  const auto first = m.must_open(1);
  ASSERT_TRUE(first->append(bytes_of("a"), survives::kill));
  log_machine::view reader;
  m.disk().before(disk_call::link, [&] {
    const auto newest = m.must_open(3);
    ASSERT_TRUE(newest->append(bytes_of("b"), survives::kill));
    reader = m.must_read();
    EXPECT_TRUE(*reader->next());
  });
  EXPECT_EQ(m.open(2).error(), errc::stale_token);
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
  EXPECT_TRUE(*reader->next());
}

TEST(log_races, a_reader_returns_nothing_behind_the_cut_of_a_seal_under_way) {
  log_machine m(1);
  const auto old = m.must_open(1);
  ASSERT_TRUE(old->append(bytes_of("a"), survives::kill));
  const auto reader = m.must_read();
  m.disk().before(disk_call::write, [&] {
    m.disk().before(disk_call::link, [&] {
      // A newer writer has read the length; the old one's bytes land now, and a reader comes.
      const auto raw = m.disk().folder();
      int code = 0;
      const auto file = raw->open("segment.1.1.0", io::opening::write, code);
      std::vector<std::byte> late;
      fencing::encode_record(late, bytes_of("late"), {fencing::log_epoch::first_of({1}), 0}, 2);
      ASSERT_TRUE(file->write(late, static_cast<std::uint64_t>(file->size().value)));
      EXPECT_TRUE(*reader->next());
      EXPECT_FALSE(*reader->next());
    });
    (void)m.must_open(2);
  });
  EXPECT_EQ(old->append(bytes_of("late"), survives::kill).error(), errc::stale_token);
  EXPECT_FALSE(*reader->next());
  EXPECT_EQ(m.all(), texts{"a"});
}

}  // namespace
}  // namespace holdfast
