#include "wire/server_error.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::wire {
namespace {

TEST(server_error, is_told_by_the_first_word) {
  const std::pair<const char*, server_error> cases[] = {
      {"MOVED 3999 127.0.0.1:6381", server_error::moved},
      {"ASK 3999 127.0.0.1:6381", server_error::ask},
      {"CROSSSLOT Keys in request don't hash to the same slot", server_error::crossslot},
      {"TRYAGAIN Multiple keys request during rehashing of slot", server_error::tryagain},
      {"CLUSTERDOWN Hash slot not served", server_error::clusterdown},
      {"MISCONF Redis is configured to save RDB snapshots", server_error::misconf},
      {"OOM command not allowed when used memory > 'maxmemory'.", server_error::oom},
      {"READONLY You can't write against a read only replica.", server_error::readonly},
      {"LOADING Redis is loading the dataset in memory", server_error::loading},
      {"MASTERDOWN Link with MASTER is down", server_error::masterdown},
      {"NOAUTH Authentication required.", server_error::noauth},
      {"NOPERM this user has no permissions to run the 'get' command", server_error::noperm},
      {"WRONGPASS invalid username-password pair or user is disabled.", server_error::wrongpass},
      {"WRONGTYPE Operation against a key holding the wrong kind", server_error::wrongtype},
      {"NOSCRIPT No matching script. Please use EVAL.", server_error::noscript},
      {"BUSY Redis is busy running a script.", server_error::busy},
      {"EXECABORT Transaction discarded", server_error::execabort},
      {"UNKILLABLE Sorry the script already executed write commands", server_error::unkillable},
      {"NOREPLICAS Not enough good replicas to write.", server_error::noreplicas},
      {"ERR unknown command 'FOO'", server_error::other},
  };
  for (const auto& [text, meaning] : cases) {
    EXPECT_EQ(server_error_of(text), meaning) << text;
    const std::string word(word_of(meaning));
    EXPECT_EQ(std::string(text).substr(0, word.size() + 1), word + " ");
    EXPECT_EQ(server_error_of(word), meaning) << "without anything behind it";
    EXPECT_EQ(server_error_of(word + "\r\n"), meaning) << "at the end of a line";
  }
  EXPECT_EQ(std::size(cases), static_cast<std::size_t>(server_error::other) + 1);
}

TEST(server_error, is_no_other_when_the_word_only_begins_alike) {
  for (const char* text :
       {"BUSYGROUP Consumer Group name already exists", "BUSYKEY Target key", "OOMPH",
        "moved 1 a:1", " MOVED 1 a:1", "ERR MOVED", "TRYAGAINST", "", "\r\n"}) {
    EXPECT_EQ(server_error_of(text), server_error::other) << text;
  }
}

TEST(server_error, is_shown_without_what_a_terminal_obeys_and_not_at_length) {
  EXPECT_EQ(printable("NOPERM no 'set'"), "NOPERM no 'set'");
  EXPECT_EQ(printable("ERR \x1b[2J\n\x9b\x7f"), "ERR ?[2J???");
  EXPECT_EQ(printable(std::string(1000, 'x')), std::string(200, 'x'));
}

TEST(server_error, names_the_right_that_is_missing) {
  const std::string user = "NOPERM this user has no permissions to ";
  const std::pair<std::string, const char*> cases[] = {
      // Redis 6
      {user + "run the 'get' command or its subcommand",
       "allow +get, or the subcommand that is needed"},
      {user + "access one of the keys used as arguments", "allow its keys by a ~PATTERN"},
      {user + "access one of the channels used as arguments", "allow its channels by a &PATTERN"},
      // Redis 7.0
      {user + "run the 'config|get' command", "allow +config|get"},
      // Redis 7.2
      {"NOPERM User bob has no permissions to run the 'set' command", "allow +set"},
      {"NOPERM No permissions to access a key", "allow its keys by a ~PATTERN"},
      {"NOPERM No permissions to access a channel", "allow its channels by a &PATTERN"},
      // Of our scripts
      {"NOPERM this user may not run 'zadd'", "allow +zadd"},
      {"NOPERM this user may not run 'set' on 'a'b'", "allow +set"},
      {"NOPERM this user may not run 'set' on the key 'a'b'", "allow this key by a ~PATTERN"},
      {"NOPERM this user may not run 'hset' on the key", "allow this key by a ~PATTERN"},
      {"NOPERM a wording of tomorrow", "allow what it lacks"},
      {"NOPERM this user may not run '\x1b[2J'", "allow what it lacks"},
      {"NOPERM this user may not run 'get", "allow what it lacks"},
      {"ERR unknown command 'get'", ""},
      {"OOM command not allowed", ""},
  };
  for (const auto& [text, right] : cases) EXPECT_EQ(missing_right(text), right) << text;
  EXPECT_EQ(with_missing_right("NOPERM this user may not run 'zadd'", "PAGE"),
            "NOPERM this user may not run 'zadd' (allow +zadd: PAGE)");
  EXPECT_EQ(with_missing_right("OOM \x1b", "PAGE"), "OOM ?");
}

}  // namespace
}  // namespace holdfast::wire
