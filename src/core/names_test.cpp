// Lock names, session ids, modes, errors and snapshots: the values that people see.
#include <holdfast/error.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/mode.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>

#include "gtest/gtest.h"

#include <set>

namespace holdfast {
namespace {

bool good(std::string text) { return lock_name(std::move(text)).check().has_value(); }

TEST(lock_name, has_1_to_512_bytes) {
  EXPECT_FALSE(good(""));
  EXPECT_TRUE(good("a"));
  EXPECT_TRUE(good(std::string(512, 'a')));
  EXPECT_FALSE(good(std::string(513, 'a')));
  EXPECT_NE(lock_name(std::string(513, 'a')).check().error().message().find("513"),
            std::string::npos);
}

TEST(lock_name, has_no_control_byte_and_says_which_one_where) {
  for (int byte = 0; byte < 256; ++byte) {
    const bool control = byte < 0x20 || byte == 0x7f;
    const lock_name name(std::string("ab") + static_cast<char>(byte) + "c");
    const auto checked = name.check();
    EXPECT_EQ(checked.has_value(), !control) << byte;
    if (!control) continue;
    EXPECT_EQ(checked.error(), errc::invalid_argument);
    EXPECT_NE(checked.error().message().find("byte 2"), std::string::npos);
    for (const char c : checked.error().message()) EXPECT_GE(c, ' ') << byte;
  }
}

TEST(lock_name, prints_harmless_text) {
  const std::pair<std::string, std::string> cases[] = {
      {"nightly/backup-1", "nightly/backup-1"},
      {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92"},
      {"a\"b'c\\", "a\\x22b\\x27c\\x5c"},
      {std::string("\0\n\x1b\x7f", 4), "\\x00\\x0a\\x1b\\x7f"},
      {"\xc3", "\\xc3"},                             // cut short
      {"\x80\xff", "\\x80\\xff"},                    // no lead byte
      {"\xc0\xaf", "\\xc0\\xaf"},                    // overlong
      {"\xe0\x80\x80", "\\xe0\\x80\\x80"},           // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond Unicode
      {"\xc2\x9b", "\\xc2\\x9b"},                    // C1: CSI
      {"\xd8\x9c", "\\xd8\\x9c"},                    // Arabic letter mark
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},           // right-to-left override
      {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"}};          // isolate
  for (const auto& [text, printed] : cases) EXPECT_EQ(lock_name(text).printable(), printed);
}

TEST(session_id, is_read_back_from_what_it_prints) {
  session_id id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    id.bytes[i] = static_cast<std::uint8_t>(17 * i + 3);
  }
  EXPECT_EQ(id.str().size(), 32u);
  EXPECT_EQ(session_id::parse(id.str()), id);
  EXPECT_EQ(session_id{}.str(), std::string(32, '0'));
}

TEST(session_id, reads_either_case) {
  EXPECT_EQ(session_id::parse("ABCDEF00000000000000000000000000"),
            session_id::parse("abcdef00000000000000000000000000"));
  EXPECT_TRUE(session_id::parse("ABCDEF00000000000000000000000000"));
}

TEST(session_id, is_nothing_for_any_other_text) {
  for (const std::string& text :
       {std::string(), std::string(31, '0'), std::string(33, '0'), std::string(31, '0') + "g",
        std::string(31, '0') + " ", "0x" + std::string(30, '0'), std::string(32, '\0')}) {
    EXPECT_FALSE(session_id::parse(text)) << text;
  }
}

TEST(mode, is_named_with_its_limit) {
  EXPECT_EQ(mode::exclusive().str(), "exclusive");
  EXPECT_EQ(mode::shared().str(), "shared");
  EXPECT_EQ(mode::permits(3).str(), "permits(3)");
}

TEST(life, has_names) {
  EXPECT_STREQ(name_of(life::unknown), "unknown");
  EXPECT_STREQ(name_of(life::alive), "alive");
  EXPECT_STREQ(name_of(life::dead), "dead");
}

session_id id_of(int last) {
  session_id id;
  id.bytes.back() = static_cast<std::uint8_t>(last);
  return id;
}

TEST(snapshot, finds_each_session_and_no_other) {
  snapshot all;
  EXPECT_EQ(all.find(id_of(1)), nullptr);
  for (const int n : {1, 3, 5}) all.sessions.emplace_back().id = id_of(n);
  for (const session_info& s : all.sessions) EXPECT_EQ(all.find(s.id), &s);
  for (const int n : {0, 2, 4, 6}) EXPECT_EQ(all.find(id_of(n)), nullptr) << n;
}

TEST(snapshot, finds_each_lock_and_no_other) {
  snapshot all;
  EXPECT_EQ(all.find(lock_name("b")), nullptr);
  // In byte order, in which one above 0x7f comes last.
  for (const char* n : {"B", "b", "bb", "\xc3\xa9"}) all.locks.push_back({lock_name(n), {}});
  for (const lock_info& l : all.locks) EXPECT_EQ(all.find(l.name), &l);
  for (const char* n : {"", "A", "a", "ba", "c", "\xff"}) {
    EXPECT_EQ(all.find(lock_name(n)), nullptr) << n;
  }
}

constexpr errc every_errc[] = {errc::busy,
                               errc::timed_out,
                               errc::cancelled,
                               errc::unavailable,
                               errc::outcome_unknown,
                               errc::lost,
                               errc::denied,
                               errc::stale_token,
                               errc::unsupported,
                               errc::invalid_argument,
                               errc::damaged,
                               errc::not_initialised,
                               errc::expiring,
                               errc::mode_conflict,
                               errc::would_block};

TEST(error, every_code_has_a_name_and_a_sentence_of_its_own) {
  std::set<std::string> names, sentences;
  for (const errc e : every_errc) {
    names.insert(name_of(e));
    sentences.insert(make_error_code(e).message());
    EXPECT_EQ(error(e).message(), make_error_code(e).message());
    EXPECT_EQ(error(e, "").message(), error(e).message());
    EXPECT_STREQ(make_error_code(e).category().name(), "holdfast");
  }
  EXPECT_EQ(names.size(), std::size(every_errc));
  EXPECT_EQ(sentences.size(), std::size(every_errc));
  EXPECT_STREQ(name_of(static_cast<errc>(99)), "unknown");
}

TEST(error, codes_with_a_counterpart_in_the_standard_equal_it) {
  const std::pair<errc, std::errc> cases[] = {
      {errc::busy, std::errc::device_or_resource_busy},
      {errc::timed_out, std::errc::timed_out},
      {errc::cancelled, std::errc::operation_canceled},
      {errc::unavailable, std::errc::resource_unavailable_try_again},
      {errc::unsupported, std::errc::not_supported},
      {errc::invalid_argument, std::errc::invalid_argument},
      {errc::would_block, std::errc::resource_deadlock_would_occur}};
  for (const auto& [ours, standard] : cases) {
    for (const errc other : every_errc) {
      EXPECT_EQ(make_error_code(other) == standard, other == ours) << name_of(other);
    }
  }
  EXPECT_NE(make_error_code(errc::lost), std::errc::timed_out);
}

TEST(error, a_success_is_no_error_code) {
  for (const errc e : every_errc) EXPECT_TRUE(make_error_code(e)) << name_of(e);
}

}  // namespace
}  // namespace holdfast
