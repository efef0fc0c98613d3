#include "core/rounds_fixture.hpp"
#include "wire/etcd_replies.hpp"
#include "wire/etcd_requests.hpp"
#include "wire/protobuf.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::wire::etcd {
namespace {

std::string key_value_bytes(const std::string& key, std::int64_t create, const std::string& value) {
  std::string kv;
  proto_writer w(kv);
  w.text(1, key);
  w.signed_number(2, create);
  w.signed_number(3, create + 1);
  w.signed_number(4, 2);
  w.text(5, value);
  return kv;
}

std::string header_bytes(std::int64_t revision) {
  std::string head;
  proto_writer w(head);
  w.number(1, 7);
  w.signed_number(3, revision);
  return head;
}

std::string range_bytes(const std::string& key) {
  std::string range;
  proto_writer w(range);
  w.message(2, key_value_bytes(key, 4, "v"));
  w.number(4, 1);
  return range;
}

/// A transaction's reply whose only operation is `inner`, as operation `which`.
std::string txn_bytes(unsigned which, const std::string& inner) {
  std::string op;
  proto_writer(op).message(which, inner);
  std::string txn;
  proto_writer w(txn);
  w.message(1, header_bytes(9));
  w.number(2, 1);
  w.message(3, op);
  return txn;
}

// As protoc encodes it: `key: "a" range_end: "b" limit: 2 count_only: true`.
TEST(etcd_requests, a_range_has_the_bytes_of_the_protocol) {
  EXPECT_EQ(encode(range{.keys = {"a", "b"}, .limit = 2, .count_only = true}),
            "\x0a\x01"
            "a\x12\x01"
            "b\x18\x02\x48\x01");
}

TEST(etcd_requests, a_comparison_with_zero_is_written_out) {
  const auto bytes = encode(txn{.compares = {{.keys = {"k"}}}});
  // compare { target: CREATE key: "k" create_revision: 0 }
  EXPECT_EQ(bytes, std::string("\x0a\x07\x10\x01\x1a\x01k\x28\x00", 9));
}

TEST(etcd_requests, a_watch_for_deletions_filters_puts) {
  const auto bytes = encode(watch_deletions{.keys = {"k"}, .start_revision = 5, .watch_id = 3});
  EXPECT_EQ(bytes, std::string("\x0a\x0a\x0a\x01k\x18\x05\x2a\x01\x00\x38\x03", 12));
}

TEST(etcd_replies, a_transaction_is_read_with_what_it_contains) {
  const auto plain = txn_bytes(1, range_bytes("key"));
  const auto t = decode_txn(plain);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->head.cluster, 7U);
  EXPECT_EQ(t->head.revision, 9);
  EXPECT_TRUE(t->succeeded);
  ASSERT_EQ(t->ops.size(), 1U);
  ASSERT_EQ(t->ops[0].range.all.size(), 1U);
  EXPECT_EQ(t->ops[0].range.all[0].key, "key");
  EXPECT_EQ(t->ops[0].range.all[0].create, 4);
  EXPECT_EQ(t->ops[0].range.all[0].mod, 5);

  const auto nested = txn_bytes(4, txn_bytes(1, range_bytes("inner")));
  const auto outer = decode_txn(nested);
  ASSERT_TRUE(outer);
  ASSERT_EQ(outer->ops[0].nested.size(), 1U);
  EXPECT_EQ(outer->ops[0].nested[0].ops[0].range.all[0].key, "inner");
}

TEST(etcd_replies, a_transaction_nested_deeper_than_asked_for_is_refused) {
  std::string bytes = txn_bytes(1, range_bytes("key"));
  for (int i = 0; i < core::shortened(10'000); ++i) bytes = txn_bytes(4, bytes);
  EXPECT_FALSE(decode_txn(bytes));
}

TEST(etcd_replies, every_beginning_of_a_reply_is_read_or_refused) {
  const auto whole = txn_bytes(4, txn_bytes(1, range_bytes("inner")));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    static_cast<void>(decode_txn(std::string_view(whole).substr(0, size)));
    static_cast<void>(decode_watch(std::string_view(whole).substr(0, size)));
    static_cast<void>(decode_status(std::string_view(whole).substr(0, size)));
  }
  EXPECT_FALSE(decode_txn(std::string_view(whole).substr(0, whole.size() - 1)));
}

TEST(etcd_replies, many_empty_keys_are_refused_and_not_kept) {
  std::string range;
  proto_writer w(range);
  for (int i = 0; i < 1000; ++i) w.message(2, "");
  EXPECT_FALSE(decode_txn(txn_bytes(1, range)));
}

TEST(etcd_replies, numbers_below_zero_are_refused) {
  std::string range;
  proto_writer(range).message(2, key_value_bytes("k", -5, "v"));
  EXPECT_FALSE(decode_txn(txn_bytes(1, range)));
}

TEST(etcd_replies, a_watch_tells_deletions_and_compactions) {
  std::string event;
  proto_writer e(event);
  e.number(1, 1);
  e.message(2, key_value_bytes("gone", 0, ""));
  std::string bytes;
  proto_writer w(bytes);
  w.message(1, header_bytes(12));
  w.signed_number(2, 3);
  w.number(4, 1);
  w.signed_number(5, 100);
  w.message(11, event);
  const auto r = decode_watch(bytes);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->watch_id, 3);
  EXPECT_TRUE(r->canceled);
  EXPECT_EQ(r->compacted, 100);
  ASSERT_EQ(r->events.size(), 1U);
  EXPECT_TRUE(r->events[0].deleted);
  EXPECT_EQ(r->events[0].kv.key, "gone");
}

}  // namespace
}  // namespace holdfast::wire::etcd
