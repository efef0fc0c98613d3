#include "cli/report.hpp"
#include "cli/exit_code.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

TEST(report_text, nothing_reaches_a_terminal_that_moves_its_cursor) {
  EXPECT_EQ(harmless("a\x1b[31mb\n"), "a\\x1b[31mb\\x0a");
  EXPECT_EQ(harmless("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(harmless("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(harmless("\xc2\x9b"), "\\xc2\\x9b");           // CSI as a C1 control.
  EXPECT_EQ(harmless("\xd8\x9c"), "\\xd8\\x9c");           // Arabic letter mark.
  EXPECT_EQ(harmless("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // Right-to-left override.
}

TEST(report_text, what_people_type_stays_beside_what_reorders_it) {
  const std::string typed = "it\u2019s \u201cours\u201d \u2013 see \u2026 \u2022 \u20ac \U0001f512";
  EXPECT_EQ(harmless(typed), typed);
  for (const char* bad : {"\u200e", "\u200f", "\u2028", "\u202a", "\u202e", "\u2066", "\u2069",
                          "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_EQ(harmless(bad).substr(0, 2), "\\x") << harmless(bad);
  }
  for (const char* good : {"\u200d", "\u2010", "\u2027", "\u202f", "\u2070"}) {
    EXPECT_EQ(harmless(good), good);
  }
}

TEST(report_text, columns_line_up_whatever_the_bytes) {
  EXPECT_EQ(table({{"A", "B"}, {"\xc3\xbc\xc3\xbc", "x"}}), "A   B\n\xc3\xbc\xc3\xbc  x\n");
}

TEST(report_text, lengths_of_time_are_rounded_for_people) {
  EXPECT_EQ(rounded(250ms), "250ms");
  EXPECT_EQ(rounded(123s), "2m03s");
  EXPECT_EQ(rounded(90min), "1h30m");
  EXPECT_EQ(rounded(76h), "3d04h");
  EXPECT_EQ(rounded_up(999500us), "1s");
  EXPECT_EQ(rounded_up(34302ms), "35s") << "nobody comes too early who waits so long";
  EXPECT_EQ(rounded_up(35s), "35s");
  EXPECT_EQ(rounded_up(59min + 59s + 1ms), "1h00m");
  EXPECT_EQ(rounded_up(1h + 1s), "1h01m");
}

TEST(report_text, a_command_that_is_advised_names_the_store_that_was_an_option) {
  const std::string text = "run: holdfast redlock init. See holdfast redlock status, or redlock";
  EXPECT_EQ(with_store(text, ""), text);
  EXPECT_EQ(with_store(text, "redlock://me:secret@a,b?ttl=3s&max_ttl=9s"),
            "run: holdfast redlock init --store 'redlock://me@a,b?ttl=3s&max_ttl=9s'. "
            "See holdfast redlock status --store 'redlock://me@a,b?ttl=3s&max_ttl=9s', or redlock");
  EXPECT_EQ(with_store("holdfast redlock ACTION", "redlock://a"), "holdfast redlock ACTION");
  const std::string help = "read holdfast redlock recover --help";
  EXPECT_EQ(with_store(help, "redlock://a"), help);
  EXPECT_EQ(with_store("holdfast redlock init", "redlock://it's"),
            R"(holdfast redlock init --store 'redlock://it'\''s')");
}

TEST(exit_codes, every_error_has_the_code_of_the_table) {
  EXPECT_EQ(exit_for(errc::busy), exit_code::not_obtained);
  EXPECT_EQ(exit_for(errc::timed_out), exit_code::not_obtained);
  EXPECT_EQ(exit_for(errc::expiring), exit_code::not_obtained) << "as of check --for";
  EXPECT_EQ(exit_for(errc::unavailable), exit_code::unavailable);
  EXPECT_EQ(exit_for(errc::outcome_unknown), exit_code::unavailable);
  EXPECT_EQ(exit_for(errc::unsupported), exit_code::unavailable);
  EXPECT_EQ(exit_for(errc::lost), exit_code::lost);
  EXPECT_EQ(exit_for(errc::denied), exit_code::lost);
  EXPECT_EQ(exit_for(errc::stale_token), exit_code::stale);
  EXPECT_EQ(exit_for(errc::invalid_argument), exit_code::usage);
  EXPECT_EQ(exit_for(errc::mode_conflict), exit_code::usage);
  EXPECT_EQ(exit_for(errc::would_block), exit_code::usage);
  EXPECT_EQ(exit_for(errc::damaged), exit_code::damaged);
  EXPECT_EQ(exit_for(errc::not_initialised), exit_code::configuration);
}

}  // namespace
}  // namespace holdfast::cli
