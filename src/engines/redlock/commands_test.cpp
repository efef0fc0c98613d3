#include "engines/redlock/commands.hpp"

#include "core/redlock/renewal.hpp"
#include "engines/redlock/keys.hpp"
#include "wire/resp_stream_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace holdfast::engines::redlock {
namespace {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

const session_id session = *session_id::parse("00112233445566778899aabbccddeeff");
const std::string id = "00112233445566778899aabbccddeeff";
const std::string value(40, 'f');

/// The parts of the one command in `bytes`.
strings parts_of(const std::string& bytes) {
  const auto read = wire::read_all(bytes);
  EXPECT_FALSE(read.failure);
  EXPECT_EQ(read.messages.size(), 1U);
  strings parts;
  if (read.messages.empty()) return parts;
  for (const auto& part : read.messages[0].elements) parts.push_back(part.text);
  return parts;
}

template <class Write>
strings written(Write write) {
  std::string out;
  write(out);
  return parts_of(out);
}

std::string sha1_of(const script& s) { return std::string(s.sha1); }

TEST(commands, acquire_has_the_keys_and_arguments_of_its_script) {
  EXPECT_EQ(written([](std::string& out) {
              commands::acquire(out, "a lock", value, session, 30s, 41, "nonce", 7);
            }),
            (strings{"EVALSHA", sha1_of(scripts::acquire), "4", "a lock", token_key("a lock"),
                     std::string(node_key), session_key(id), value, "30000", "41", "nonce", "7"}));
}

TEST(commands, raise_repair_and_release_have_those_of_theirs) {
  EXPECT_EQ(
      written([](std::string& out) { commands::raise(out, "a", value, token_max, "nonce", 7); }),
      (strings{"EVALSHA", sha1_of(scripts::raise), "3", "a", token_key("a"), std::string(node_key),
               value, "9007199254740991", "nonce", "7"}));
  EXPECT_EQ(written([](std::string& out) {
              commands::repair(out, "a", value, session, 1s, token{5}, "nonce");
            }),
            (strings{"EVALSHA", sha1_of(scripts::repair), "4", "a", token_key("a"),
                     std::string(node_key), session_key(id), value, "1000", "5", "nonce"}));
  EXPECT_EQ(written([](std::string& out) { commands::release(out, "a", value); }),
            (strings{"EVALSHA", sha1_of(scripts::release), "1", "a", value}));
  const commands::call who{.seat = 7, .own = true, .keep = false};
  EXPECT_EQ(written([&](std::string& out) { commands::release(out, "a", value, who); }),
            (strings{"EVALSHA", sha1_of(scripts::release), "1", "a", value, "7", "1", "0"}));
  EXPECT_EQ(written([&](std::string& out) {
              commands::release(out, "a", value, {.keep = true, .count = true});
            }),
            (strings{"EVALSHA", sha1_of(scripts::release), "1", "a", value, "0", "0", "1"}));
  EXPECT_EQ(written([&](std::string& out) { commands::release(out, "a", value, {.keep = true}); }),
            (strings{"EVALSHA", sha1_of(scripts::release), "1", "a", value, "0", "0", "2"}));
}

TEST(commands, a_release_in_another_database_calls_those_who_wait_there) {
  EXPECT_EQ(written([](std::string& out) { commands::release(out, "a", value, 3); }),
            (strings{"EVALSHA", sha1_of(scripts::release), "1", "a", value, "", "0", "0", "@3:"}));
  EXPECT_EQ(
      written([&](std::string& out) {
        commands::release(out, "a", value, {.seat = 7, .database = 12});
      }),
      (strings{"EVALSHA", sha1_of(scripts::release), "1", "a", value, "7", "0", "0", "@12:"}));
  EXPECT_EQ(written([](std::string& out) { commands::call_next(out, "a", 7, 3); }),
            (strings{"EVALSHA", sha1_of(scripts::release), "1", "a", "", "7", "0", "0", "@3:"}));
}

TEST(commands, renewals_name_all_keys_before_all_values) {
  const std::vector<held_key> locks{{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(written([&](std::string& out) { commands::renew(out, session, 9s, "nonce", locks); }),
            (strings{"EVALSHA", sha1_of(scripts::renew), "4", std::string(node_key),
                     session_key(id), "a", "b", "nonce", "9000", "1", "2"}));
  EXPECT_EQ(written([&](std::string& out) { commands::renew(out, session, 9s, "nonce", {}); }),
            (strings{"EVALSHA", sha1_of(scripts::renew), "2", std::string(node_key),
                     session_key(id), "nonce", "9000"}))
      << "the session alone";
  EXPECT_EQ(written([&](std::string& out) { commands::renew_plain(out, 9s, locks); }),
            (strings{"EVALSHA", sha1_of(scripts::renew_plain), "2", "a", "b", "9000", "1", "2"}));
  EXPECT_EQ(written([](std::string& out) { commands::renew_nothing(out); }),
            (strings{"EVALSHA", sha1_of(scripts::renew_plain), "0", "1"}));
}

TEST(commands, a_renewal_is_another_nodes_with_its_nonce_in_its_place) {
  const std::vector<held_key> locks{{"life", "1"}, {"b", "2"}};
  std::string first = "before";
  const std::size_t at = commands::renew(first, session, 9s, "life", locks);
  std::string second = "before";
  EXPECT_EQ(commands::renew(second, session, 9s, "next", locks), at);
  EXPECT_EQ(first.replace(at, 4, "next"), second);
}

TEST(commands_death, more_than_a_hundred_locks_in_one_renewal_are_a_broken_invariant) {
  std::vector<held_key> locks(core::redlock::renewal::batch_max, held_key{"a", "1"});
  EXPECT_EQ(
      written([&](std::string& out) { commands::renew(out, session, 9s, "n", locks); }).size(),
      3U + 2 + 100 + 2 + 100);
  locks.push_back(locks.front());
  std::string out;
  EXPECT_DEATH(commands::renew(out, session, 9s, "n", locks), "batch_max");
}

TEST(commands, session_records_are_opened_closed_and_denied) {
  const std::vector<std::pair<std::string_view, std::string_view>> fields{{"host", "h"},
                                                                          {"pid", "42"}};
  EXPECT_EQ(written([&](std::string& out) { commands::open(out, session, 9s, "nonce", fields); }),
            (strings{"EVALSHA", sha1_of(scripts::open), "2", std::string(node_key), session_key(id),
                     "nonce", "9000", "host", "h", "pid", "42"}));
  EXPECT_EQ(written([](std::string& out) { commands::close(out, session); }),
            (strings{"EVALSHA", sha1_of(scripts::close), "1", session_key(id)}));
  EXPECT_EQ(written([](std::string& out) { commands::deny(out, session, "nonce", "me", ""); }),
            (strings{"EVALSHA", sha1_of(scripts::deny), "2", std::string(node_key), session_key(id),
                     "nonce", "me", ""}));
}

TEST(commands, the_node_record_is_read_sealed_and_written) {
  EXPECT_EQ(written([](std::string& out) { commands::look(out); }),
            (strings{"EVALSHA", sha1_of(scripts::look), "1", std::string(node_key)}));
  EXPECT_EQ(written([](std::string& out) {
              commands::seal(out, {.node = 2, .target = 1, .nonce = "nonce", .epoch = 8});
            }),
            (strings{"EVALSHA", sha1_of(scripts::seal), "1", std::string(node_key), "nonce", "8"}));
  core::redlock::write w{.node = 1, .nonce_seen = "old", .epoch_seen = 3, .record = {}};
  w.record = {.id = "id",
              .nonce = "new",
              .epoch = 9,
              .run_id = "run",
              .floor = 44,
              .max_ttl = 60s,
              .last_time = 1s,
              .config_hash = "cafe",
              .durable = true};
  EXPECT_EQ(written([&](std::string& out) { commands::write(out, w); }),
            (strings{"EVALSHA", sha1_of(scripts::write), "1", std::string(node_key), "old", "3",
                     "id", "new", "9", "run", "44", "60000", "cafe", "1", "0"}));
}

TEST(commands, a_page_of_the_listing_has_a_cursor_and_a_count) {
  EXPECT_EQ(written([](std::string& out) { commands::list(out, "17", 100); }),
            (strings{"EVALSHA", sha1_of(scripts::list), "0", "17", "100"}));
}

TEST(commands, without_tokens_it_is_the_published_algorithm) {
  EXPECT_EQ(written([](std::string& out) { commands::set_plain(out, "a", value, 30s); }),
            (strings{"SET", "a", value, "NX", "PX", "30000"}));
}

TEST(commands, the_rest_is_plain_redis) {
  EXPECT_EQ(written([](std::string& out) { commands::load(out, scripts::look); }),
            (strings{"SCRIPT", "LOAD", std::string(scripts::look.text)}));
  EXPECT_EQ(written([](std::string& out) { commands::time(out); }), (strings{"TIME"}));
  EXPECT_EQ(written([](std::string& out) { commands::persistence(out); }),
            (strings{"CONFIG", "GET", "*append*"}));
  EXPECT_EQ(written([](std::string& out) { commands::subscribe(out, "a"); }),
            (strings{"SUBSCRIBE", "a"}));
  const auto peek = [](bool tokens) {
    return written([tokens](std::string& out) { commands::peek(out, "a", tokens); });
  };
  EXPECT_EQ(peek(true), (strings{"EXISTS", "a"}));
  EXPECT_EQ(peek(false), (strings{"GET", "a"}));
  EXPECT_EQ(written([](std::string& out) { commands::unsubscribe(out, "a"); }),
            (strings{"UNSUBSCRIBE", "a"}));
}

TEST(commands, a_ttl_is_rounded_up_so_that_no_key_ends_before_its_lease) {
  const auto ttl_sent = [](duration ttl) {
    return written([&](std::string& out) { commands::set_plain(out, "a", value, ttl); }).back();
  };
  EXPECT_EQ(ttl_sent(1ns), "1");
  EXPECT_EQ(ttl_sent(1ms), "1");
  EXPECT_EQ(ttl_sent(1ms + 1ns), "2");
}

TEST(commands, append_behind_what_is_not_sent_yet) {
  std::string out = "before";
  commands::time(out);
  EXPECT_EQ(out, "before*1\r\n$4\r\nTIME\r\n");
}

}  // namespace
}  // namespace holdfast::engines::redlock
