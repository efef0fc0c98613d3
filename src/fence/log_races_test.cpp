#include "tests/fence/log_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <latch>
#include <thread>

/// Two writers whose steps are interleaved on purpose.

namespace holdfast {
namespace {

using tests::bytes_of;
using tests::disk_call;
using tests::log_machine;
using texts = std::vector<std::string>;

TEST(log_races, a_writer_that_is_overtaken_after_its_look_appends_nothing) {
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

TEST(log_races, an_older_sealer_that_wins_the_link_is_sealed_by_the_newer_one) {
  log_machine m(1);
  const auto first = m.must_open(1);
  ASSERT_TRUE(first->append(bytes_of("a"), survives::kill));
  std::latch at_link(1), may_go(1);
  m.disk().before(disk_call::link, [&] {
    at_link.count_down();
    may_go.wait();
  });
  std::thread older([&] { EXPECT_EQ(m.open(2).error(), errc::stale_token); });
  at_link.wait();
  m.disk().before(disk_call::link, [&] {
    // Token 3 has raised the epoch and read the version; token 2 wakes up and links the next one.
    may_go.count_down();
    older.join();
  });
  const auto newer = m.must_open(3);
  EXPECT_EQ(newer->opened().before.value, 2U);
  ASSERT_TRUE(newer->append(bytes_of("b"), survives::kill));
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
      EXPECT_EQ(reader->next().error(), errc::unavailable) << "nobody can say yet";
    });
    (void)m.must_open(2);
  });
  EXPECT_EQ(old->append(bytes_of("late"), survives::kill).error(), errc::stale_token);
  EXPECT_FALSE(*reader->next());
  EXPECT_EQ(m.all(), texts{"a"});
}

TEST(log_races, a_reader_does_not_miss_what_another_has_read_while_a_seal_is_under_way) {
  log_machine m(1);
  const auto old = m.must_open(1);
  ASSERT_TRUE(old->append(bytes_of("a"), survives::kill));
  // Its writer does not know yet that it is there.
  int code = 0;
  const auto file = m.disk().folder()->open("segment.1.1.0", io::opening::write, code);
  std::vector<std::byte> bytes;
  fencing::encode_record(bytes, bytes_of("b"), {fencing::log_epoch::first_of({1}), 0}, 2);
  ASSERT_TRUE(file->write(bytes, static_cast<std::uint64_t>(file->size().value)));
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
  // Token 5 raises the epoch and comes no further.
  m.disk().fail_all(disk_call::create, ENOSPC);
  EXPECT_EQ(m.open(5).error(), errc::unavailable);
  m.disk().fail_all(disk_call::create, 0);
  const auto reader = m.must_read();
  EXPECT_TRUE(*reader->next());
  EXPECT_EQ(reader->next().error(), errc::unavailable);
  (void)m.must_open(6);
  EXPECT_TRUE(*reader->next()) << "the cut is behind it";
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
}

TEST(log_races, a_rollover_before_the_look_at_a_mark_hides_nothing_that_is_synced) {
  log_machine m(1);
  const auto log = m.must_open(1, {.segment_bytes = 4096});
  ASSERT_TRUE(log->append(bytes_of("a"), survives::power_loss));
  const auto reader = m.must_read({.durability = survives::power_loss});
  m.disk().before(disk_call::open, [&] {
    // The reader has looked at the hint and opens the segment; its mark goes now.
    ASSERT_TRUE(log->append(bytes_of(std::string(4090, 'x')), survives::kill));
  });
  const auto got = reader->next();
  ASSERT_TRUE(got);
  EXPECT_TRUE(*got);
}

TEST(log_races, a_segment_that_goes_before_the_look_at_it_is_told_as_discarded) {
  log_machine m(1);
  const auto log = m.must_open(1, {.segment_bytes = 4096});
  ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
  const auto reader = m.must_read();
  m.disk().before(disk_call::open, [&] {
    ASSERT_TRUE(log->append(bytes_of(std::string(4090, 'x')), survives::kill));
    ASSERT_EQ(log->discard_before({2})->value, 2U);
  });
  const auto got = reader->next();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error(), errc::unavailable) << got.error().message();
  EXPECT_EQ(*reader->skip(), 1U);
  EXPECT_TRUE(*reader->next());
}

TEST(log_races, a_merge_whose_segments_a_newer_writer_discards_is_stale) {
  log_machine m(1);
  for (std::uint64_t t = 1; t <= 3; ++t) {
    ASSERT_TRUE(m.must_open(t)->append(bytes_of("a"), survives::kill));
  }
  const auto old = m.must_open(4);
  m.disk().before(disk_call::open, [&] { ASSERT_TRUE(m.must_open(5)->discard_before({4})); });
  const auto merged = old->compact();
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error(), errc::stale_token) << merged.error().message();
  EXPECT_EQ(old->append(bytes_of("late"), survives::kill).error(), errc::stale_token);
}

TEST(log_races, a_refusal_outlives_a_power_loss) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    log_machine m(seed);
    const auto old = m.must_open(1);
    // Token 5 raises the epoch and comes no further.
    m.disk().fail_all(disk_call::create, ENOSPC);
    EXPECT_EQ(m.open(5).error(), errc::unavailable);
    m.disk().fail_all(disk_call::create, 0);
    EXPECT_EQ(old->append(bytes_of("late"), survives::kill).error(), errc::stale_token);
    m.lose_power();
    ASSERT_EQ(m.open(1).error(), errc::stale_token) << "seed " << seed;
  }
}

TEST(log_races, a_refused_record_does_not_come_back_with_a_lost_version) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    log_machine m(seed);
    const auto old = m.must_open(1);
    std::latch at_sync(1), may_go(1);
    std::thread newer;
    m.disk().before(disk_call::write, [&] {
      newer = std::thread([&] {
        // Its version is linked and not on the disk.
        m.disk().before(disk_call::sync_directory, [&] {
          at_sync.count_down();
          may_go.wait();
        });
        (void)m.open(2);
      });
      at_sync.wait();
    });
    EXPECT_EQ(old->append(bytes_of("late"), survives::kill).error(), errc::stale_token);
    const auto left = m.disk().after_power_loss();
    may_go.count_down();
    newer.join();
    m.lose_power();
    ASSERT_TRUE(m.open(3));
    ASSERT_EQ(m.all(), texts{}) << "seed " << seed;
  }
}

TEST(log_races, threads_share_writes_and_syncs_and_lose_no_record) {
  log_machine m(1);
  const auto log = m.must_open(1, {.segment_bytes = 4096});
  constexpr int each = 100;
  std::array<std::vector<std::uint64_t>, 8> numbers;
  std::atomic<bool> done{};
  std::thread reads([&] {
    const auto reader = m.must_read();
    for (std::uint64_t last = 0;;) {
      const bool last_look = done;
      const auto got = reader->next();
      if (!got) ADD_FAILURE() << got.error().message();
      if (!got || (!*got && last_look)) break;
      if (*got) {
        EXPECT_EQ((*got)->number.value, ++last);
      }
    }
    EXPECT_EQ(reader->position(), 8U * each + 1);
  });
  std::vector<std::thread> writers;
  for (std::size_t t = 0; t < numbers.size(); ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        const std::string record = std::to_string(t) + ":" + std::to_string(i);
        const auto n =
            log->append(bytes_of(record), i % 3 == 0 ? survives::power_loss : survives::kill);
        ASSERT_TRUE(n) << n.error().message();
        numbers[t].push_back(n->value);
      }
    });
  }
  for (auto& w : writers) w.join();
  done = true;
  reads.join();
  const auto all = m.all();
  ASSERT_EQ(all.size(), 8U * each);
  for (std::size_t t = 0; t < numbers.size(); ++t) {
    for (std::size_t i = 0; i < numbers[t].size(); ++i) {
      EXPECT_EQ(all[numbers[t][i] - 1], std::to_string(t) + ":" + std::to_string(i));
    }
  }
}

TEST(log_races, takeovers_and_appends_of_many_threads_are_one_order) {
  log_machine m(1);
  ASSERT_TRUE(m.open(1));
  std::atomic<std::uint64_t> tokens{1};
  std::array<std::vector<std::string>, 4> acknowledged, refused;
  std::vector<std::thread> writers;
  for (std::size_t t = 0; t < acknowledged.size(); ++t) {
    writers.emplace_back([&, t] {
      for (int round = 0; round < 25; ++round) {
        const auto log = m.open(++tokens);
        if (!log) {
          EXPECT_EQ(log.error(), errc::stale_token) << log.error().message();
          continue;
        }
        for (int i = 0; i < 10; ++i) {
          const std::string record =
              std::to_string(t) + "/" + std::to_string(round) + "/" + std::to_string(i);
          const auto n = (*log)->append(bytes_of(record), survives::kill);
          if (n) acknowledged[t].push_back(record);
          if (!n && n.error() == errc::stale_token) refused[t].push_back(record);
        }
      }
    });
  }
  for (auto& w : writers) w.join();
  const auto all = m.all();
  for (std::size_t t = 0; t < acknowledged.size(); ++t) {
    // Once, and in the order of their writer.
    auto at = all.begin();
    for (const auto& record : acknowledged[t]) {
      at = std::find(at, all.end(), record);
      ASSERT_NE(at, all.end()) << record;
      EXPECT_EQ(std::count(all.begin(), all.end(), record), 1) << record;
    }
    for (const auto& record : refused[t]) {
      EXPECT_EQ(std::count(all.begin(), all.end(), record), 0) << record;
    }
  }
}

}  // namespace
}  // namespace holdfast
