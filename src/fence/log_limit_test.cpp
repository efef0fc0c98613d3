#include "fence/log_inline.hpp"
#include "fence/log_names.hpp"
#include "tests/fence/log_machine.hpp"

#include <gtest/gtest.h>

/// A log that has as many segments as one may have.

namespace holdfast {
namespace {

using tests::bytes_of;
using tests::log_machine;

/// `count` segments of one record.
void make_segments(log_machine& m, std::uint64_t count) {
  ASSERT_TRUE(m.open(1));
  fencing::log_inline v;
  v.version = 2;
  v.owner = fencing::log_epoch::first_of({2});
  std::vector<std::byte> bytes;
  for (std::uint32_t i = 0; i < count; ++i) {
    const fencing::segment_id id{v.owner, i};
    bytes.clear();
    fencing::encode_record(bytes, bytes_of("r"), id, v.next);
    m.disk().overwrite(fencing::segment_name(id), bytes);
    v.sealed.push_back({id, v.next, 1, bytes.size()});
    ++v.next;
  }
  const std::string text = fencing::encode_inline(v);
  const auto encoded = bytes_of(text);
  m.disk().overwrite(fencing::inline_name(2), {encoded.begin(), encoded.end()});
}

TEST(log_limit, a_log_of_too_many_segments_can_be_merged) {
  log_machine m(1);
  make_segments(m, 150'000);
  const auto log = m.must_open(3);
  ASSERT_TRUE(log);
  const auto refused = log->append(bytes_of("r"), survives::kill);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::unavailable);
  EXPECT_NE(refused.error().message().find("compact()"), std::string::npos);
  EXPECT_EQ(*log->compact(), 149'999U);
  EXPECT_EQ(log->append(bytes_of("r"), survives::kill)->value, 150'001U);
  EXPECT_EQ(m.all().size(), 150'001U);
}

}  // namespace
}  // namespace holdfast
