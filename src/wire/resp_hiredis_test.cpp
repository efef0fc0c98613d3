#include "wire/resp_stream_fixture.hpp"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <memory>

/// The same streams in the same pieces through this reader and through hiredis's. Debian's hiredis
/// 0.14 reads RESP2 only; with 1.0 or newer the RESP3 types are compared too.

namespace holdfast::wire {
namespace {

#ifdef REDIS_REPLY_MAP
constexpr dialect spoken_by_hiredis = dialect::resp3_of_hiredis;
#else
constexpr dialect spoken_by_hiredis = dialect::resp2;
#endif

reply with_elements(reply_kind kind, const redisReply& from);

reply with_text(reply_kind kind, const redisReply& from) {
  return {.kind = kind, .text = std::string(from.str, static_cast<std::size_t>(from.len))};
}

reply as_ours(const redisReply& from) {
  switch (from.type) {
    case REDIS_REPLY_STATUS:
      return with_text(reply_kind::status, from);
    case REDIS_REPLY_ERROR:
      return with_text(reply_kind::error, from);
    case REDIS_REPLY_STRING:
      return with_text(reply_kind::text, from);
    case REDIS_REPLY_INTEGER:
      return {.kind = reply_kind::integer, .integer = from.integer};
    case REDIS_REPLY_ARRAY:
      return with_elements(reply_kind::array, from);
#ifdef REDIS_REPLY_MAP
    case REDIS_REPLY_VERB:
      return with_text(reply_kind::text, from);
    case REDIS_REPLY_BIGNUM:
      return with_text(reply_kind::big_number, from);
    case REDIS_REPLY_BOOL:
      return {.kind = reply_kind::boolean, .integer = from.integer};
    case REDIS_REPLY_DOUBLE:
      return {.kind = reply_kind::real, .number = from.dval};
    case REDIS_REPLY_MAP:
      return with_elements(reply_kind::map, from);
    case REDIS_REPLY_SET:
      return with_elements(reply_kind::set, from);
    case REDIS_REPLY_PUSH:
      return with_elements(reply_kind::push, from);
#endif
    default:
      EXPECT_EQ(from.type, REDIS_REPLY_NIL);
      return {};
  }
}

reply with_elements(reply_kind kind, const redisReply& from) {
  reply made{.kind = kind};
  for (std::size_t i = 0; i < from.elements; ++i)
    made.elements.push_back(as_ours(*from.element[i]));
  return made;
}

class hiredis_reader {
 public:
  void feed(std::string_view bytes) { redisReaderFeed(reader_.get(), bytes.data(), bytes.size()); }

  /// True with the next message, or false: none, or it failed.
  bool next(reply& out) {
    void* found = nullptr;
    if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK || found == nullptr) return false;
    const std::unique_ptr<void, void (*)(void*)> owned(found, freeReplyObject);
    out = as_ours(*static_cast<redisReply*>(found));
    return true;
  }
  bool failed() const { return reader_->err != 0; }

 private:
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_{redisReaderCreate(),
                                                               redisReaderFree};
};

/// Both readers give the same messages at the same pieces.
void compare(const std::string& bytes, choices& from) {
  resp_reader ours;
  hiredis_reader theirs;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t size = std::min(bytes.size() - at, 1 + from.below(from.below(2) ? 200 : 4));
    ours.feed(std::string_view(bytes).substr(at, size));
    theirs.feed(std::string_view(bytes).substr(at, size));
    at += size;
    reply expected;
    while (theirs.next(expected)) {
      const reply* found = ours.next();
      RC_ASSERT(found != nullptr);
      RC_ASSERT(*found == expected);
    }
    RC_ASSERT(ours.next() == nullptr);
    RC_ASSERT(ours.failure() == nullptr);
    RC_ASSERT(!theirs.failed());
  }
}

RC_GTEST_PROP(resp_hiredis, reads_what_hiredis_reads_in_any_pieces, ()) {
  const auto input = *rc::gen::resize(2000, rc::gen::arbitrary<std::vector<std::uint8_t>>());
  choices from(input);
  stream_maker stream(from, spoken_by_hiredis);
  while (!from.empty()) stream.message();
  choices pieces(input);
  compare(stream.bytes(), pieces);
}

TEST(resp_hiredis, every_prefix_of_a_stream_gives_the_same_messages) {
  const std::string bytes =
      "+OK\r\n$-1\r\n:1\r\n*3\r\n:5\r\n:5\r\n*1\r\n$2\r\nhi\r\n-NOSCRIPT "
      "No\r\n*0\r\n*-1\r\n$0\r\n\r\n";
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    resp_reader ours;
    hiredis_reader theirs;
    ours.feed(std::string_view(bytes).substr(0, size));
    theirs.feed(std::string_view(bytes).substr(0, size));
    reply expected;
    while (theirs.next(expected)) {
      const reply* found = ours.next();
      ASSERT_NE(found, nullptr) << size;
      EXPECT_EQ(*found, expected) << size;
    }
    EXPECT_EQ(ours.next(), nullptr) << size;
    EXPECT_EQ(ours.failure(), nullptr) << size;
  }
}

}  // namespace
}  // namespace holdfast::wire
