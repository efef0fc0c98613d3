#include "engines/local/codec.hpp"

#include "core/lease.hpp"
#include "engines/local/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace holdfast::engines::local {
namespace {

/// The format, the flags, and eight numbers: all that decode_head() reads.
constexpr std::size_t head_bytes = 2 + 8 * 8;

session_id id_of(std::uint8_t n) {
  session_id id;
  id.bytes.fill(n);
  return id;
}

core::session_record full_record() {
  core::session_record s;
  s.id = id_of(3);
  s.at = {.inc = token_max.value, .beat = 1'234'567, .denied = true};
  s.ttl = std::chrono::seconds{30};
  s.gate = 9;
  s.where = {.device = 0xfd00, .inode = ~std::uint64_t{0}};
  s.owner = {.host = "host",
             .boot_id = "0123",
             .pid = 4'194'304,
             .program = "prog",
             .instance = "a",
             .label = std::string("nul\0inside", 10),
             .started = wall_time(std::chrono::microseconds{-5})};
  s.opened = wall_time(std::chrono::microseconds{1'795'238'849'659'795});
  s.denied_by = "operator";
  s.denied_why = "it hangs";
  return s;
}

stored_entry full_entry() {
  return {.what = {.order = token{77},
                   .owner = id_of(5),
                   .inc = 8,
                   .request = 4,
                   .how = mode::permits(3),
                   .since = wall_time(std::chrono::microseconds{42})},
          .slot = 4095};
}

void expect_same(const core::session_record& a, const core::session_record& b) {
  EXPECT_EQ(encode(a), encode(b));
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.owner.label, b.owner.label);
  EXPECT_EQ(a.denied_why, b.denied_why);
  EXPECT_EQ(a.at, b.at);
  EXPECT_EQ(a.where, b.where);
}

TEST(local_codec, a_session_record_is_read_back) {
  core::session_record empty;
  empty.id = id_of(3);
  empty.ttl = core::ttl_min;
  for (const auto& s : {full_record(), empty}) {
    const auto value = encode(s);
    const auto back = decode_session(s.id, value);
    ASSERT_TRUE(back);
    expect_same(*back, s);
    const auto head = decode_head(value);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->at, s.at);
    EXPECT_EQ(head->gate, s.gate);
    EXPECT_EQ(head->ttl, s.ttl);
  }
}

TEST(local_codec, changes_in_place_equal_a_new_encoding) {
  auto s = full_record();
  auto value = encode(s);
  set_beat(value, 0xfedcba9876543210U);
  set_gate(value, 0x0123456789abcdefU);
  s.at.beat = 0xfedcba9876543210U;
  s.gate = 0x0123456789abcdefU;
  EXPECT_EQ(value, encode(s));
}

TEST(local_codec, an_entry_is_read_back_in_every_mode) {
  for (const mode how :
       {mode::exclusive(), mode::shared(), mode::permits(1), mode::permits(mode::permits_max)}) {
    auto e = full_entry();
    e.what.how = how;
    const auto value = encode(e, "");
    const auto back = decode_entry(e.what.order, value);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->what.how, how);
    EXPECT_EQ(encode(*back, ""), value);
    EXPECT_EQ(back->slot, e.slot);
    EXPECT_TRUE(name_kept_in(value).empty());
    EXPECT_EQ(name_kept_in(encode(e, "kept")), "kept");
  }
}

TEST(local_codec, every_shorter_value_is_refused) {
  const auto session = encode(full_record());
  for (std::size_t n = 0; n < session.size(); ++n) {
    EXPECT_FALSE(decode_session(id_of(3), bytes(session).first(n))) << n;
  }
  for (std::size_t n = 0; n < head_bytes; ++n) {
    EXPECT_FALSE(decode_head(bytes(session).first(n))) << n;
  }
  const auto e = encode(full_entry(), "");
  for (std::size_t n = 0; n < e.size(); ++n) {
    EXPECT_FALSE(decode_entry(token{1}, bytes(e).first(n))) << n;
    EXPECT_TRUE(name_kept_in(bytes(e).first(n)).empty()) << n;
  }
}

TEST(local_codec, a_limit_that_its_mode_cannot_have_is_refused) {
  const auto is_read = [](const mode& how, std::uint8_t low, std::uint8_t high) {
    auto e = full_entry();
    e.what.how = how;
    auto value = encode(e, "");
    value[2] = std::byte{low};  // Behind the format and the kind.
    value[3] = std::byte{high};
    return decode_entry(token{1}, value).has_value();
  };
  for (const mode one : {mode::exclusive(), mode::shared()}) {
    EXPECT_TRUE(is_read(one, 1, 0));
    EXPECT_FALSE(is_read(one, 0, 0));
    EXPECT_FALSE(is_read(one, 2, 0));
  }
  EXPECT_TRUE(is_read(mode::permits(1), mode::permits_max % 256, mode::permits_max / 256));
  EXPECT_FALSE(is_read(mode::permits(1), mode::permits_max % 256 + 1, mode::permits_max / 256));
  EXPECT_FALSE(is_read(mode::permits(1), 0, 0));
}

TEST(local_codec, a_text_that_is_longer_than_any_that_is_written_is_refused) {
  auto s = full_record();
  s.owner.host.assign(text_bytes_max, 'x');
  auto value = encode(s);
  ASSERT_TRUE(decode_session(s.id, value));
  // Its length is the first behind the head and the time of its start.
  const std::size_t length = head_bytes + 8;
  ASSERT_EQ(value[length + 1], std::byte{text_bytes_max / 256});
  value[length] = std::byte{1};
  value.insert(value.begin() + length + 2, std::byte{'x'});
  EXPECT_FALSE(decode_session(s.id, value));
}

TEST(local_codec, what_is_left_over_or_of_another_format_is_refused) {
  auto session = encode(full_record());
  session.push_back(std::byte{0});
  EXPECT_FALSE(decode_session(id_of(3), session));
  session = encode(full_record());
  session[0] = std::byte{2};
  EXPECT_FALSE(decode_session(id_of(3), session));
  EXPECT_FALSE(decode_head(session));
  auto e = encode(full_entry(), "");
  e[1] = std::byte{3};
  EXPECT_FALSE(decode_entry(token{1}, e));
  e = encode(full_entry(), std::string(lock_name::bytes_max + 1, 'x'));
  EXPECT_FALSE(decode_entry(token{1}, e));
}

TEST(local_codec, a_ttl_that_no_session_may_have_is_refused) {
  auto s = full_record();
  for (const duration ttl : {core::ttl_min, core::ttl_max}) {
    s.ttl = ttl;
    EXPECT_TRUE(decode_session(s.id, encode(s)));
    EXPECT_TRUE(decode_head(encode(s)));
  }
  for (const duration ttl : {duration::min(), duration(-1), duration(0),
                             core::ttl_min - duration(1), core::ttl_max + duration(1)}) {
    s.ttl = ttl;
    EXPECT_FALSE(decode_session(s.id, encode(s))) << ttl.count();
    EXPECT_FALSE(decode_head(encode(s))) << ttl.count();
  }
}

TEST(local_codec, changed_bytes_are_refused_or_read_and_never_overrun) {
  std::mt19937 random(7);  // NOLINT: the same bytes each time.
  for (int i = 0; i < 20'000; ++i) {
    auto value = i % 2 == 0 ? encode(full_record()) : encode(full_entry(), "name");
    for (unsigned k = 0; k < 1 + random() % 4; ++k) {
      value[random() % value.size()] = static_cast<std::byte>(random());
    }
    value.resize(random() % (value.size() + 1));
    if (const auto s = decode_session(id_of(3), value)) {
      EXPECT_EQ(encode(*s), value);
    }
    (void)decode_head(value);
    if (const auto e = decode_entry(token{1}, value)) {
      EXPECT_EQ(encode(*e, name_kept_in(value)), value);
    }
  }
}

TEST(local_codec, long_texts_are_cut) {
  auto s = full_record();
  s.owner.label.assign(text_bytes_max + 10, 'x');
  const auto back = decode_session(s.id, encode(s));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->owner.label.size(), text_bytes_max);
}

TEST(local_keys, names_of_every_length_fit_and_are_read_back) {
  for (std::size_t n = 1; n <= lock_name::bytes_max; ++n) {
    const lock_name name(std::string(n, 'n'));
    const key k = entry_key(queue_prefix(name), token{0x1122334455667788U});
    EXPECT_LE(k.view().size(), key_bytes_max);
    EXPECT_EQ(order_in(k.view()), token{0x1122334455667788U});
    const auto value = encode(full_entry(), is_long(name) ? name.str() : "");
    const auto back = name_of_entry(k.view(), value);
    ASSERT_TRUE(back) << n;
    EXPECT_EQ(*back, name);
  }
}

TEST(local_keys, long_names_that_differ_only_at_the_end_have_keys_of_their_own) {
  std::set<std::vector<std::byte>> seen;
  for (char c = 'a'; c <= 'z'; ++c) {
    const key k = queue_prefix(lock_name(std::string(511, 'x') + c));
    EXPECT_TRUE(seen.emplace(k.view().begin(), k.view().end()).second);
  }
}

TEST(local_keys, entries_of_a_name_are_in_order_of_arrival) {
  const key prefix = queue_prefix(lock_name("a"));
  const key early = entry_key(prefix, token{255});
  const key late = entry_key(prefix, token{256});
  EXPECT_TRUE(std::ranges::lexicographical_compare(early.view(), late.view()));
}

TEST(local_keys, a_key_that_does_not_fit_its_value_is_refused) {
  const key k = entry_key(queue_prefix(lock_name("abc")), token{1});
  const auto value = encode(full_entry(), "");
  EXPECT_FALSE(name_of_entry(k.view().first(k.view().size() - 1), value));
  EXPECT_FALSE(name_of_entry(bytes{}, value));
  const key large = entry_key(queue_prefix(lock_name(std::string(512, 'x'))), token{1});
  EXPECT_FALSE(name_of_entry(large.view(), value));
  const auto kept = encode(full_entry(), std::string(512, 'x'));
  ASSERT_TRUE(name_of_entry(large.view(), kept));
  EXPECT_FALSE(name_of_entry(large.view().first(large.view().size() - 1), kept));
}

TEST(local_keys, a_key_of_another_kind_or_size_is_refused) {
  const key entry = entry_key(queue_prefix(lock_name("abc")), token{1});
  std::vector<std::byte> other(entry.view().begin(), entry.view().end());
  other[0] = sessions_begin;
  EXPECT_FALSE(name_of_entry(other, encode(full_entry(), "")));
  const key session = session_key(id_of(9));
  other.assign(session.view().begin(), session.view().end());
  other[0] = entries_begin;
  EXPECT_FALSE(parse_session_key(other));
  other[0] = sessions_begin;
  other.push_back(std::byte{9});
  EXPECT_FALSE(parse_session_key(other));
  EXPECT_FALSE(parse_session_key(bytes(other).first(16)));
  const std::vector<std::byte> short_one(8, std::byte{0xff});
  EXPECT_EQ(order_in(bytes(short_one).last(7)), token{});
}

TEST(local_keys, session_keys_are_read_back) {
  EXPECT_EQ(parse_session_key(session_key(id_of(9)).view()), id_of(9));
  EXPECT_FALSE(parse_session_key(own_key("base").view()));
}

}  // namespace
}  // namespace holdfast::engines::local
