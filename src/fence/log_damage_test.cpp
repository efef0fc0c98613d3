#include "tests/fence/log_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

/// Bytes that are damaged, and what a takeover leaves of them.

namespace holdfast {
namespace {

using tests::bytes_of;
using tests::disk_call;
using tests::log_machine;
using tests::text_of;
using texts = std::vector<std::string>;

bool has(log_machine& m, const std::string& name) {
  const auto names = m.disk().names();
  return std::count(names.begin(), names.end(), name) == 1;
}

/// Three records that were acknowledged and are on the disk, the first one bad; what the file has.
std::vector<std::byte> damage_the_first(log_machine& m) {
  {
    const auto log = m.must_open(1);
    for (const char* text : {"a", "b", "c"}) {
      EXPECT_TRUE(log->append(bytes_of(text), survives::power_loss));
    }
  }
  m.lose_power();
  auto content = m.disk().content("segment.1.1.0");
  content[12] ^= std::byte{1};
  m.disk().overwrite("segment.1.1.0", content);
  return content;
}

TEST(log_damage, the_bytes_behind_a_bad_first_record_stay) {
  log_machine m(1);
  const auto content = damage_the_first(m);
  {
    const auto log = m.must_open(2);
    EXPECT_EQ(log->opened().bytes_cut, content.size());
    ASSERT_TRUE(log->append(bytes_of("d"), survives::kill));
  }
  for (std::uint64_t t = 3; t < 6; ++t) ASSERT_TRUE(m.open(t));
  EXPECT_FALSE(has(m, "segment.1.1.0"));
  ASSERT_TRUE(has(m, "cut.1.1.0"));
  EXPECT_EQ(m.disk().content("cut.1.1.0"), content);
  EXPECT_EQ(m.all(), texts{"d"});
}

TEST(log_damage, the_bytes_stay_when_the_power_goes_during_the_takeover) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (std::uint64_t at = 1; at <= 30; ++at) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(at));
      log_machine m(seed);
      const auto content = damage_the_first(m);
      m.disk().lose_power_at(m.disk().calls() + at);
      (void)m.open(2);
      m.lose_power();
      for (std::uint64_t t = 3; t < 5; ++t) {
        const auto opened = m.open(t);
        ASSERT_TRUE(opened) << opened.error().message();
      }
      ASSERT_TRUE(has(m, "cut.1.1.0"));
      ASSERT_EQ(m.disk().content("cut.1.1.0"), content);
    }
  }
}

TEST(log_damage, the_bytes_stay_when_an_older_sealer_was_overtaken) {
  log_machine m(1);
  const auto content = damage_the_first(m);
  m.disk().before(disk_call::link, [&] { ASSERT_TRUE(m.open(3)); });
  EXPECT_EQ(m.open(2).error(), errc::stale_token);
  ASSERT_TRUE(m.open(4));
  ASSERT_TRUE(has(m, "cut.1.1.0"));
  EXPECT_EQ(m.disk().content("cut.1.1.0"), content);
}

TEST(log_damage, the_tail_of_a_segment_that_is_copied_stays) {
  log_machine m(1);
  const auto log = m.must_open(1);
  ASSERT_TRUE(log->append(bytes_of("a"), survives::power_loss));
  m.disk().fail_all(disk_call::sync, EIO);
  EXPECT_EQ(log->append(bytes_of("b"), survives::power_loss).error(), errc::outcome_unknown);
  m.disk().fail_all(disk_call::sync, 0);
  int code = 0;
  const auto file = m.disk().folder()->open("segment.1.1.0", io::opening::write, code);
  ASSERT_TRUE(file);
  const auto end = static_cast<std::uint64_t>(file->size().value);
  ASSERT_TRUE(file->write(bytes_of("torn"), end));
  {
    const auto fresh = m.must_open(2);
    EXPECT_EQ(fresh->opened().bytes_cut, 4U);
  }
  EXPECT_FALSE(has(m, "segment.1.1.0"));
  ASSERT_TRUE(has(m, "cut.1.1.0"));
  EXPECT_EQ(m.disk().content("cut.1.1.0").size(), end + 4);
  EXPECT_EQ(m.all(), (texts{"a", "b"}));
}

TEST(log_damage, nothing_is_kept_of_a_segment_without_bytes) {
  log_machine m(1);
  for (std::uint64_t t = 1; t < 5; ++t) ASSERT_TRUE(m.open(t));
  for (const auto& name : m.disk().names()) EXPECT_FALSE(name.starts_with("cut.")) << name;
}

TEST(log_damage, a_bad_record_in_the_segment_that_grows_cannot_be_skipped) {
  log_machine m(1);
  const auto log = m.must_open(1);
  for (const char* text : {"a", "b", "c"}) ASSERT_TRUE(log->append(bytes_of(text), survives::kill));
  int code = 0;
  const auto file = m.disk().folder()->open("segment.1.1.0", io::opening::write, code);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(bytes_of("x"), 12 + 1 + 12));
  const auto reader = m.must_read();
  EXPECT_EQ(text_of((*reader->next())->bytes), "a");
  const auto next = reader->next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error(), errc::damaged);
  EXPECT_EQ(next.error().message().find("skip"), std::string::npos) << next.error().message();
  const auto skipped = reader->skip();
  ASSERT_FALSE(skipped);
  EXPECT_EQ(skipped.error(), errc::damaged);
  EXPECT_EQ(reader->position(), 2U);
}

TEST(log_damage, a_segment_that_grows_and_is_missing_cannot_be_skipped) {
  log_machine m(1);
  const auto log = m.must_open(1);
  ASSERT_TRUE(log->append(bytes_of("a"), survives::kill));
  m.disk().forget("segment.1.1.0");
  const auto reader = m.must_read();
  EXPECT_EQ(reader->next().error(), errc::damaged);
  const auto skipped = reader->skip();
  ASSERT_FALSE(skipped);
  EXPECT_EQ(skipped.error(), errc::damaged);
}

}  // namespace
}  // namespace holdfast
