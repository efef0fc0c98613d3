// What commands.hpp writes and replies.hpp reads, with a real server between them.
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/replies.hpp"
#include "io/redis/redis_client_fixture.hpp"
#include "io/redis/redis_facts.hpp"
#include "tests/redis_io/server_address.hpp"

#include <utility>

namespace holdfast::redis_tests {
namespace {

using namespace std::chrono_literals;
using namespace engines::redlock;
using core::redlock::seal_reply;
using core::redlock::vote;
using core::redlock::write_reply;
using session_there = core::redlock::renewal::session_there;

const session_id session = *session_id::parse("00112233445566778899aabbccddeeff");
const std::string value = std::string(40, 'f') + "." + session.str();
const std::string other = std::string(40, 'e') + "." + session.str();

struct conversation : testing::Test {
  conversation() { client.events->wait_up(); }

  template <class Write>
  wire::reply ask(Write write) {
    std::string bytes;
    write(bytes);
    auto a = client.answers->wait(send(bytes));
    EXPECT_EQ(a.what, io::redis_answer::outcome::reply) << a.why;
    return std::move(a.reply);
  }
  std::uint64_t send(const std::string& bytes) {
    const bool subscribes = bytes.find("SUBSCRIBE") != std::string::npos;
    EXPECT_TRUE(client.send(++tag, bytes, 20s, subscribes));
    return tag;
  }
  wire::reply acquire(std::string_view with, std::uint64_t epoch = 1) {
    return ask([&](std::string& out) {
      commands::acquire(out, "a", with, session, 30s, 0, "life", epoch);
    });
  }
  /// An admitted node with the scripts and a session.
  void set_up() {
    for (const script* s : scripts::all) {
      const auto r = ask([&](std::string& out) { commands::load(out, *s); });
      ASSERT_EQ(replies::load(r, *s), fault::none) << s->name;
    }
    const auto r = ask([&](std::string& out) { commands::write(out, first); });
    ASSERT_EQ(replies::write(r), write_reply::written);
    const std::vector<std::pair<std::string_view, std::string_view>> fields{{"host", "here"}};
    const auto opened =
        ask([&](std::string& out) { commands::open(out, session, 30s, "life", fields); });
    ASSERT_EQ(replies::open(opened), fault::none);
  }

  core::redlock::write first{.node = 0,
                             .nonce_seen = "",
                             .epoch_seen = 0,
                             .record = {.id = "node",
                                        .nonce = "life",
                                        .epoch = 1,
                                        .run_id = "run",
                                        .floor = 40,
                                        .max_ttl = 60s,
                                        .last_time = {},
                                        .config_hash = "cafe",
                                        .durable = true}};
  server of{{.append_only = true, .fsync = "always"}};
  io::redis_client client{address_of(of)};
  std::uint64_t tag{};
};

TEST_F(conversation, a_server_that_syncs_every_write_is_durable_and_no_other) {
  const auto config = [&] { return ask([](std::string& out) { commands::persistence(out); }); };
  const io::redis_facts known = client.events->facts();
  EXPECT_TRUE(io::check_redis(known, "redlock"));
  EXPECT_TRUE(facts_of(known, {}).master && facts_of(known, {}).standalone);
  EXPECT_TRUE(io::keeps_every_write(known, config()));
  of.command({"CONFIG", "SET", "no-appendfsync-on-rewrite", "yes"});
  EXPECT_FALSE(io::keeps_every_write(known, config()));
  of.command({"CONFIG", "SET", "no-appendfsync-on-rewrite", "no"});
  of.command({"CONFIG", "SET", "appendfsync", "everysec"});
  EXPECT_FALSE(io::keeps_every_write(known, config()));
}

TEST_F(conversation, a_node_record_is_written_read_and_sealed) {
  set_up();
  const auto look = replies::look(ask([](std::string& out) { commands::look(out); }));
  ASSERT_TRUE(look && look->record);
  auto expected = first.record;
  expected.last_time = look->record->last_time;
  EXPECT_EQ(*look->record, expected);
  const auto time = replies::time(ask([](std::string& out) { commands::time(out); }));
  ASSERT_TRUE(time);
  EXPECT_GE(*time, look->time);
  EXPECT_LT(*time, look->time + 20s);
  const core::redlock::seal s{.node = 0, .target = 1, .nonce = "life", .epoch = 5};
  const auto seal = [&] {
    return replies::seal(ask([&](std::string& out) { commands::seal(out, s); }));
  };
  const auto sealed = seal();
  EXPECT_EQ(sealed.what, seal_reply::result::sealed);
  EXPECT_EQ(sealed.floor, 40U);
  EXPECT_EQ(seal().epoch, 5U) << "not below";
  EXPECT_EQ(replies::acquire(acquire(value), 0).vote.epoch, 5U);
  const auto again = ask([&](std::string& out) { commands::write(out, first); });
  EXPECT_EQ(replies::write(again), write_reply::changed);
}

TEST_F(conversation, a_lock_is_granted_raised_renewed_released_and_repaired) {
  set_up();
  const auto granted = replies::acquire(acquire(value), 0);
  EXPECT_EQ(granted.vote.what, vote::granted);
  EXPECT_EQ(granted.vote.counter, 41U);
  EXPECT_TRUE(granted.time);
  const auto taken = replies::acquire(acquire(other), 0);
  EXPECT_EQ(taken.vote.what, vote::taken);
  EXPECT_GT(taken.vote.left, 10s);
  EXPECT_LE(taken.vote.left, 30s);
  const auto raised =
      ask([](std::string& out) { commands::raise(out, "a", value, token{50}, "life", 1); });
  EXPECT_EQ(replies::raise(raised).what, vote::granted);
  const std::vector<held_key> locks{{"a", value}, {"b", value}};
  const auto renewed = replies::renew(
      ask([&](std::string& out) { commands::renew(out, session, 30s, "life", locks); }),
      locks.size());
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->answer.ours.to_ulong(), 1U) << "'b' is not there";
  const auto release = [&] {
    return replies::release(ask([](std::string& out) { commands::release(out, "a", value); }));
  };
  EXPECT_TRUE(release()->deleted);
  EXPECT_FALSE(release()->deleted);
  const auto repaired = ask(
      [](std::string& out) { commands::repair(out, "a", value, session, 30s, token{50}, "life"); });
  EXPECT_EQ(replies::repair(repaired).vote.what, vote::granted);
}

TEST_F(conversation, a_lock_without_tokens_needs_no_record) {
  for (const script* s : {&scripts::release, &scripts::renew_plain}) {
    ask([&](std::string& out) { commands::load(out, *s); });
  }
  const auto set = [&] {
    return replies::set_plain(
        ask([](std::string& out) { commands::set_plain(out, "a", value, 30s); }));
  };
  EXPECT_EQ(set().what, vote::granted);
  EXPECT_EQ(set().what, vote::taken);
  const std::vector<held_key> locks{{"b", value}, {"a", value}};
  const auto renewed = replies::renew_plain(
      ask([&](std::string& out) { commands::renew_plain(out, 30s, locks); }), 2);
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->answer.ours.to_ulong(), 2U);
}

TEST_F(conversation, sessions_are_listed_denied_and_closed) {
  set_up();
  acquire(value);
  const auto page = replies::list(ask([](std::string& out) { commands::list(out, "0", 100); }));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->next, "0");
  ASSERT_EQ(page->sessions.size(), 1U);
  EXPECT_EQ(page->sessions[0].id, session.str());
  EXPECT_EQ(page->sessions[0].fields["host"], "here");
  const auto record_of = [&](const session_id& id) {
    return replies::session(ask([&](std::string& out) { commands::session(out, id); }));
  };
  const auto record = record_of(session);
  ASSERT_TRUE(record);
  EXPECT_EQ((*record)["host"], "here");
  const auto none = record_of(session_id{});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->all.empty());
  ASSERT_EQ(page->locks.size(), 1U);
  EXPECT_EQ(page->locks[0].value, value);
  EXPECT_EQ(page->locks[0].counter, 41U);
  const auto deny = [&] {
    return replies::deny(
        ask([](std::string& out) { commands::deny(out, session, "life", "ann", "it hangs"); }));
  };
  EXPECT_FALSE(deny()->already);
  EXPECT_TRUE(deny()->already);
  EXPECT_EQ(deny()->ttl, 30s);
  const auto refused = acquire(other);
  EXPECT_EQ(replies::acquire(refused, 0).vote.why, fault::denied);
  EXPECT_EQ(replies::denial_text(refused), "an operator (ann) denied it: it hangs");
  const auto renewed = replies::renew(
      ask([](std::string& out) { commands::renew(out, session, 30s, "life", {}); }), 0);
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->answer.session, session_there::denied);
  const auto close = ask([](std::string& out) { commands::close(out, session); });
  EXPECT_FALSE(*replies::close(close)) << "a denied one stays";
}

TEST_F(conversation, a_release_is_heard) {
  set_up();
  const std::string seat = engines::redlock::seat_channel("a", 12);
  for (const std::string& channel : {engines::redlock::free_channel("a"), seat}) {
    const auto done = ask([&](std::string& out) { commands::subscribe(out, channel); });
    EXPECT_EQ(replies::subscribe(done), fault::none);
  }
  const auto look = [&](bool tokens) {
    return replies::peek(ask([&](std::string& out) { commands::peek(out, "a", tokens); }));
  };
  EXPECT_EQ(look(true), false);
  EXPECT_EQ(look(false), false);
  acquire(value);
  EXPECT_EQ(look(true), true);
  EXPECT_EQ(look(false), true);
  const auto released =
      replies::release(ask([](std::string& out) { commands::release(out, "a", value); }));
  EXPECT_TRUE(released->counted);
  EXPECT_TRUE(released->others) << "we did not say that it is ourselves";
  const auto heard = client.events->wait_pushes(1);
  EXPECT_EQ(replies::freed(heard.at(0))->name, "a");
  EXPECT_TRUE(replies::freed(heard.at(0))->calls);
  const auto left = ask([&](std::string& out) { commands::unsubscribe(out, seat); });
  EXPECT_EQ(replies::subscribe(left), fault::none);
}

}  // namespace
}  // namespace holdfast::redis_tests
