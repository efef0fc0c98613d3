#include "engines/zookeeper/codec.hpp"

#include "core/lease.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::zookeeper {
namespace {

using namespace std::chrono_literals;

core::session_record some_record() {
  core::session_record s;
  s.ttl = 30s;
  s.where = {.device = 11, .inode = 22};
  s.opened = wall_time(18us);
  s.owner.pid = 4711;
  s.owner.started = wall_time(17us);
  s.owner.host = "a host";
  s.owner.program = "100%\nnew line";
  s.owner.label = "\xc3\xa4";
  return s;
}

TEST(zookeeper_codec, a_record_is_read_as_it_was_written) {
  const auto s = some_record();
  const auto back = decode_session(encode(s));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ttl, s.ttl);
  EXPECT_EQ(back->where, s.where);
  EXPECT_EQ(back->opened, s.opened);
  EXPECT_EQ(back->owner.pid, s.owner.pid);
  EXPECT_EQ(back->owner.started, s.owner.started);
  EXPECT_EQ(back->owner.host, s.owner.host);
  EXPECT_EQ(back->owner.program, s.owner.program);
  EXPECT_EQ(back->owner.instance, "");
  EXPECT_EQ(back->owner.label, s.owner.label);
  EXPECT_FALSE(back->at.denied);
}

TEST(zookeeper_codec, a_denial_is_part_of_the_record) {
  auto s = some_record();
  s.at.denied = true;
  s.denied_by = "an operator";
  s.denied_why = "why not";
  const auto back = decode_session(encode(s));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->at.denied);
  EXPECT_EQ(back->denied_by, s.denied_by);
  EXPECT_EQ(back->denied_why, s.denied_why);
}

TEST(zookeeper_codec, a_text_too_long_is_cut) {
  auto s = some_record();
  s.owner.label = std::string(2 * text_bytes_max, '%');
  EXPECT_EQ(decode_session(encode(s))->owner.label.size(), text_bytes_max);
}

TEST(zookeeper_codec, what_is_not_ours_is_refused) {
  const std::string good = encode(some_record());
  for (const std::string& bad :
       {std::string(), std::string("x"), std::string("holdfast-session 2\nttl 1000000000\n"),
        good + "no_value\n", good + "ttl 5\n", good + "\n", good.substr(1),
        std::string("holdfast-session 1\nttl 1s\n"), std::string("holdfast-session 1\n"),
        std::string("holdfast-session 1\nttl 1\n"),
        std::string("holdfast-session 1\nttl 1000000000\nhost %0\n")}) {
    EXPECT_FALSE(decode_session(bad)) << bad;
  }
}

TEST(zookeeper_codec, a_ttl_that_no_session_has_is_refused) {
  auto s = some_record();
  for (const duration ttl : {core::ttl_min, core::ttl_max}) {
    s.ttl = ttl;
    EXPECT_TRUE(decode_session(encode(s)));
  }
  for (const duration ttl : {core::ttl_min - duration(1), core::ttl_max + duration(1)}) {
    s.ttl = ttl;
    EXPECT_FALSE(decode_session(encode(s))) << ttl.count();
  }
}

TEST(zookeeper_codec, a_text_that_is_longer_than_any_that_is_written_is_refused) {
  const std::string begin = "holdfast-session 1\nttl 1000000000\nhost ";
  EXPECT_TRUE(decode_session(begin + std::string(text_bytes_max, 'x') + "\n"));
  EXPECT_FALSE(decode_session(begin + std::string(text_bytes_max + 1, 'x') + "\n"));
}

TEST(zookeeper_codec, every_cut_of_a_record_is_refused_or_read_without_harm) {
  const std::string good = encode(some_record());
  int refused = 0;
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto back = decode_session(good.substr(0, size));
    refused += !back;
    if (!back) continue;
    EXPECT_GE(back->ttl, core::ttl_min) << size;
    EXPECT_LE(back->ttl, some_record().ttl) << size;
    EXPECT_TRUE(some_record().owner.host.starts_with(back->owner.host)) << size;
  }
  EXPECT_GT(refused, 0);
}

TEST(zookeeper_codec, an_entry_tells_since_when) {
  EXPECT_EQ(decode_entry(encode_entry(wall_time(19us))), wall_time(19us));
  EXPECT_LT(decode_entry(encode_entry(wall_time::max())), wall_time::max()) << "no clock shows it";
  EXPECT_FALSE(decode_entry("holdfast-session 1\nsince 19\n"));
  EXPECT_FALSE(decode_entry("holdfast-entry 1\nsince x\n"));
}

TEST(zookeeper_codec, a_transaction_that_does_not_fit_is_no_token) {
  EXPECT_EQ(token_of(0x100000001).value, 0x100000001U);
  EXPECT_EQ(token_of(0).value, 0U);
  EXPECT_EQ(token_of(-1).value, 0U);
  EXPECT_EQ(token_of(static_cast<std::int64_t>(token_max.value)), token_max);
  EXPECT_EQ(token_of(static_cast<std::int64_t>(token_max.value) + 1).value, 0U);
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
