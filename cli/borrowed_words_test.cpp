#include "cli/borrowed_words.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(borrowed_words, a_verb_of_another_program_names_ours) {
  EXPECT_EQ(borrowed_verb("list"), " (did you mean \"ls\"?)");
  EXPECT_EQ(borrowed_verb("lock"), borrowed_verb("hold"));
  EXPECT_EQ(borrowed_verb("force-leave"), borrowed_verb("kill")) << "the last of a row";
  for (const char* other : {"", "ls", "lis", "hold lock", "nightly"}) {
    EXPECT_EQ(borrowed_verb(other), "") << other;
  }
}

TEST(borrowed_words, an_option_is_named_only_where_the_verb_has_it) {
  EXPECT_EQ(borrowed_option("--lock-timeout", {"--wait"}), " (did you mean \"--wait\"?)");
  EXPECT_EQ(borrowed_option("--lock-timeout", {"--store"}), "");
  EXPECT_EQ(borrowed_option("--reason", {"--label"}), " (did you mean \"--label\"?)");
  EXPECT_EQ(borrowed_option("--reason", {"--label", "--why"}), " (did you mean \"--why\"?)");
  EXPECT_EQ(borrowed_option("--name", {"NAME"}), "; NAME is given without an option");
  EXPECT_EQ(borrowed_option("--name", {}), "");
  EXPECT_EQ(borrowed_option("--config", {}), "; HOLDFAST_CONFIG names the file");
}

TEST(borrowed_words, a_timeout_may_be_meant_for_the_command) {
  const std::string of_a_run = borrowed_option("--timeout", {"--wait", "--grace"});
  EXPECT_NE(of_a_run.find("-- timeout DURATION"), std::string::npos) << of_a_run;
  EXPECT_EQ(borrowed_option("--timeout", {"--wait"}), " (did you mean \"--wait\"?)");
}

}  // namespace
}  // namespace holdfast::cli
