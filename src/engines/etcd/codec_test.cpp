#include "engines/etcd/codec.hpp"

#include "core/lease.hpp"
#include "wire/protobuf.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace holdfast::engines::etcd {
namespace {

using namespace std::chrono_literals;

const core::store_id some_store{session_id{{1}}};

bool is_read(duration ttl) {
  core::session_record s;
  s.ttl = ttl;
  return decode_session(encode(s)).has_value();
}

bool is_read(const cluster_epoch& e) { return decode_epoch(encode(e)).has_value(); }

/// As the next version of this program would write it.
std::string of_format(std::uint64_t number) {
  std::string out;
  wire::proto_writer(out).number(1, number);
  return out;
}

TEST(etcd_codec, a_record_is_read_as_it_was_written) {
  core::session_record s;
  s.ttl = 30s;
  s.where = {.device = 3, .inode = 4};
  s.opened = wall_time{5us};
  s.owner.pid = 6;
  s.owner.host = "host";
  s.owner.label = std::string(text_bytes_max + 1, 'x');
  const auto read = decode_session(encode(s));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ttl, s.ttl);
  EXPECT_EQ(read->where, s.where);
  EXPECT_EQ(read->opened, s.opened);
  EXPECT_EQ(read->owner.pid, s.owner.pid);
  EXPECT_EQ(read->owner.host, s.owner.host);
  EXPECT_EQ(read->owner.label, std::string(text_bytes_max, 'x'));
}

// Whoever took such a session over would come too early, or never.
TEST(etcd_codec, a_ttl_that_no_session_has_is_refused) {
  EXPECT_TRUE(is_read(core::ttl_min));
  EXPECT_TRUE(is_read(core::ttl_max));
  EXPECT_FALSE(is_read(core::ttl_min - 1us));
  EXPECT_FALSE(is_read(core::ttl_max + 1us));
}

TEST(etcd_codec, what_another_version_wrote_is_refused) {
  EXPECT_TRUE(decode_entry(of_format(1)));
  EXPECT_FALSE(decode_entry(of_format(2)));
  EXPECT_FALSE(decode_denial(of_format(2)));
  EXPECT_FALSE(decode_entry(""));
}

TEST(etcd_codec, an_entry_tells_since_when) {
  EXPECT_EQ(decode_entry(encode_entry(wall_time(19us))), wall_time(19us));
  EXPECT_LT(decode_entry(encode_entry(wall_time::max())), wall_time::max()) << "no clock shows it";
}

TEST(etcd_codec, an_epoch_is_of_a_store_and_fits_into_a_token) {
  EXPECT_TRUE(is_read({.number = 1, .cluster = 7, .store = some_store}));
  EXPECT_TRUE(is_read({.number = epoch_max, .cluster = 7, .store = some_store}));
  EXPECT_FALSE(is_read({.number = 0, .cluster = 7, .store = some_store}));
  EXPECT_FALSE(is_read({.number = epoch_max + 1, .cluster = 7, .store = some_store}));
  EXPECT_FALSE(is_read({.number = 1, .cluster = 7, .store = {}}));
}

TEST(etcd_codec, a_token_has_the_epoch_above_the_revision_or_is_none) {
  constexpr std::int64_t revision_max = (std::int64_t{1} << revision_bits) - 1;
  EXPECT_EQ(token_of(1, 1), token{1});
  EXPECT_LT(token_of(1, revision_max), token_of(2, 1));
  EXPECT_EQ(token_of(epoch_max, revision_max), token_max);
  EXPECT_EQ(revision_of(token_of(epoch_max, 7)), 7);
  for (const std::uint64_t epoch : {std::uint64_t{0}, epoch_max + 1}) {
    EXPECT_EQ(token_of(epoch, 1), token{}) << epoch;
  }
  for (const std::int64_t revision : {std::int64_t{0}, std::int64_t{-1},
                                      std::numeric_limits<std::int64_t>::min(), revision_max + 1}) {
    EXPECT_EQ(token_of(2, revision), token{}) << revision;
  }
}

}  // namespace
}  // namespace holdfast::engines::etcd
