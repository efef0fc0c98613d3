#include "engines/redlock/replies.hpp"

#include "core/lease.hpp"

#include "engines/redlock/keys.hpp"
#include "wire/resp_stream_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace holdfast::engines::redlock {
namespace {

using namespace std::chrono_literals;
using core::redlock::node_vote;
using core::redlock::seal_reply;
using core::redlock::vote;
using core::redlock::write_reply;
using session_there = core::redlock::renewal::session_there;

wire::reply read_one(const std::string& bytes) {
  const auto read = wire::read_all(bytes);
  EXPECT_EQ(read.messages.size(), 1U) << bytes;
  return read.messages.empty() ? wire::reply{} : read.messages[0];
}

std::string integer(const std::string& digits) { return ":" + digits + "\r\n"; }
std::string text(const std::string& s) {
  return "$" + std::to_string(s.size()) + "\r\n" + s + "\r\n";
}
std::string failure(const std::string& line) { return "-" + line + "\r\n"; }
template <class... Parts>
std::string array(const Parts&... parts) {
  return "*" + std::to_string(sizeof...(parts)) + "\r\n" + (std::string() + ... + parts);
}

const std::string now = integer("1700000000000000");
constexpr server_time at{1'700'000'000'000'000};
const char* const largest = "9007199254740991";
const char* const above = "9007199254740992";

TEST(replies, acquire_grants_with_a_counter_and_the_time) {
  auto v = replies::acquire(read_one(array(integer("7"), now)), 0);
  EXPECT_EQ(v.vote.what, vote::granted);
  EXPECT_EQ(v.vote.counter, 7U);
  EXPECT_EQ(v.time, at);
  v = replies::acquire(read_one(array(integer(largest), now)), 0);
  EXPECT_EQ(v.vote.counter, token_max.value);
}

TEST(replies, a_token_that_is_not_above_the_hint_is_garbled) {
  const std::uint64_t hint = 1'700'000'000'000'005;
  const auto vote_for = [&](std::uint64_t counter, std::uint64_t sent) {
    return replies::acquire(read_one(array(integer(std::to_string(counter)), now)), sent).vote.why;
  };
  EXPECT_EQ(vote_for(hint + 1, hint), fault::none);
  EXPECT_EQ(vote_for(hint, hint), fault::garbled);
  EXPECT_EQ(vote_for(7, hint), fault::garbled);
  EXPECT_EQ(vote_for(7, 7), fault::garbled);
  const std::uint64_t day_ahead = 1'700'086'400'000'000;
  EXPECT_EQ(vote_for(7, day_ahead), fault::garbled);
  EXPECT_EQ(vote_for(7, day_ahead + 1), fault::none) << "the script ignores such a hint";
}

TEST(replies, acquire_tells_how_long_a_taken_lock_has_to_live) {
  auto v = replies::acquire(read_one(array(integer("0"), now, integer("1500"))), 0);
  EXPECT_EQ(v.vote.what, vote::taken);
  EXPECT_EQ(v.vote.left, 1500ms);
  EXPECT_EQ(v.time, at);
  v = replies::acquire(read_one(array(integer("0"), now, integer("-1"))), 0);
  EXPECT_EQ(v.vote.left, duration::max());
  v = replies::acquire(read_one(array(integer("0"), now, integer("9223372036854775807"))), 0);
  EXPECT_EQ(v.vote.left, duration::max()) << "no overflow";
}

TEST(replies, what_acquire_cannot_mean_is_garbled_and_never_a_grant) {
  for (const std::string& bytes : {array(integer("0"), now),
                                   array(integer("-1"), now),
                                   array(integer(above), now),
                                   array(integer("9223372036854775807"), now),
                                   array(integer("1"), integer("-5")),
                                   array(integer("1"), integer(above)),
                                   array(integer("1"), text("5")),
                                   array(text("1"), now),
                                   array(integer("1")),
                                   array(integer("1"), now, integer("9")),
                                   array(integer("0"), now, integer("-2")),
                                   array(integer("0"), text("x"), integer("1")),
                                   array(),
                                   integer("1"),
                                   text("1"),
                                   std::string("+OK\r\n"),
                                   std::string("$-1\r\n"),
                                   std::string("_\r\n"),
                                   std::string("#t\r\n"),
                                   std::string(",1\r\n"),
                                   std::string("~2\r\n:1\r\n:1\r\n"),
                                   std::string("%1\r\n:1\r\n:1\r\n"),
                                   failure("HFEPOCH"),
                                   failure("HFEPOCH x is the epoch"),
                                   failure(std::string("HFEPOCH ") + above + " is the epoch")}) {
    const auto v = replies::acquire(read_one(bytes), 0);
    EXPECT_EQ(v.vote.what, vote::unknown) << bytes;
    EXPECT_EQ(v.vote.why, fault::garbled) << bytes;
    EXPECT_FALSE(v.time) << bytes;
  }
}

wire::reply error_of(const char* line) {
  wire::reply r;
  r.kind = wire::reply_kind::error;
  r.text = line;
  return r;
}

TEST(replies, an_error_is_a_failed_node_and_never_a_taken_lock) {
  const std::pair<const char*, fault> cases[] = {
      {"OOM command not allowed when used memory > 'maxmemory'.", fault::out_of_memory},
      {"HFDENIED by a: b", fault::denied},
      {"", fault::refused}};
  for (const auto& [line, why] : cases) {
    const auto v = replies::acquire(error_of(line), 0).vote;
    EXPECT_EQ(v.what, vote::failed) << line;
    EXPECT_EQ(v.why, why) << line;
  }
}

TEST(replies, another_epoch_is_told) {
  const auto bytes = failure("HFEPOCH 12 is the epoch of this node, not 11");
  EXPECT_EQ(replies::acquire(read_one(bytes), 0).vote.epoch, 12U);
  EXPECT_EQ(replies::raise(read_one(bytes)).epoch, 12U);
}

TEST(replies, set_plain_is_ok_or_nil) {
  EXPECT_EQ(replies::set_plain(read_one("+OK\r\n")).what, vote::granted);
  EXPECT_EQ(replies::set_plain(read_one("$-1\r\n")).what, vote::taken);
  EXPECT_EQ(replies::set_plain(read_one("_\r\n")).what, vote::taken);
  EXPECT_EQ(replies::set_plain(read_one("*-1\r\n")).what, vote::taken);
  EXPECT_EQ(replies::set_plain(read_one(failure("OOM x"))).why, fault::out_of_memory);
  EXPECT_EQ(replies::set_plain(read_one("+QUEUED\r\n")).why, fault::garbled);
  EXPECT_EQ(replies::set_plain(read_one(text("OK"))).why, fault::garbled);
}

TEST(replies, raise_and_repair_are_done_or_not_ours) {
  EXPECT_EQ(replies::raise(read_one(integer("1"))).what, vote::granted);
  EXPECT_EQ(replies::raise(read_one(integer("0"))).what, vote::taken);
  EXPECT_EQ(replies::raise(read_one(integer("2"))).why, fault::garbled);
  EXPECT_EQ(replies::raise(read_one(failure("WRONGTYPE x"))).why, fault::wrong_type);
  const auto done = replies::repair(read_one(array(integer("1"), now)));
  EXPECT_EQ(done.vote.what, vote::granted);
  EXPECT_EQ(done.vote.counter, 0U) << "it never counts for the token";
  EXPECT_EQ(done.time, at);
  const auto taken = replies::repair(read_one(array(integer("0"), now, integer("7"))));
  EXPECT_EQ(taken.vote.what, vote::taken);
  EXPECT_EQ(taken.vote.left, 7ms);
  EXPECT_EQ(replies::repair(read_one(array(integer("2"), now))).vote.why, fault::garbled);
  EXPECT_EQ(replies::repair(read_one(failure("HFDENIED by a: b"))).vote.why, fault::denied);
}

TEST(replies, release_tells_what_was_there_and_who_heard_of_it) {
  EXPECT_TRUE(replies::release(read_one(integer("1")))->deleted);
  EXPECT_TRUE(replies::release(read_one(integer("1")))->counted);
  EXPECT_TRUE(replies::release(read_one(integer("2")))->deleted);
  EXPECT_FALSE(replies::release(read_one(integer("2")))->counted);
  EXPECT_FALSE(replies::release(read_one(integer("1")))->others);
  EXPECT_TRUE(replies::release(read_one(integer("3")))->others);
  EXPECT_TRUE(replies::release(read_one(integer("3")))->counted);
  EXPECT_FALSE(replies::release(read_one(integer("0")))->deleted);
  EXPECT_EQ(replies::release(read_one(failure("MISCONF x"))).why(), fault::disk_error);
  for (const char* odd : {":4\r\n", ":-1\r\n", "+OK\r\n", "_\r\n", "*0\r\n"}) {
    EXPECT_FALSE(replies::release(read_one(odd)));
    EXPECT_EQ(replies::release(read_one(odd)).why(), fault::garbled);
  }
}

TEST(replies, what_never_came_is_a_fault_like_any_other) {
  const wire::reply* none = nullptr;
  const reading<released> r = none != nullptr ? replies::release(*none) : fault::silent;
  EXPECT_FALSE(r);
  EXPECT_EQ(r.why(), fault::silent);
}

TEST(replies, renew_has_one_character_for_each_lock) {
  const auto r = replies::renew(read_one(array(text("101"), now)), 3);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->answer.session, session_there::holds);
  EXPECT_EQ(r->answer.ours.to_ulong(), 0b101U);
  EXPECT_EQ(r->time, at);
  ASSERT_TRUE(replies::renew(read_one(array(text(""), now)), 0));
  const auto plain = replies::renew_plain(read_one(text("01")), 2);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->answer.ours.to_ulong(), 0b10U);
  EXPECT_FALSE(plain->time);
}

TEST(replies, renew_says_whether_the_session_holds) {
  auto r = replies::renew(read_one(failure("HFNOSESSION this node has no record")), 3);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->answer.session, session_there::missing);
  EXPECT_TRUE(r->answer.ours.none());
  r = replies::renew(read_one(failure("HFDENIED by a: b")), 3);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->answer.session, session_there::denied);
  EXPECT_EQ(replies::renew(read_one(failure("HFTTL 5 ms")), 3).why(), fault::ttl_too_long);
}

TEST(replies, a_renewal_of_another_length_extends_nothing) {
  for (const std::string& bytes :
       {array(text("11"), now), array(text("1111"), now), array(text("1x1"), now),
        array(text("111")), array(text("111"), integer("-1")), array(integer("111"), now),
        text("111")}) {
    EXPECT_EQ(replies::renew(read_one(bytes), 3).why(), fault::garbled) << bytes;
  }
  EXPECT_EQ(replies::renew_plain(read_one(text("1")), 2).why(), fault::garbled);
  const std::string many(101, '1');
  EXPECT_EQ(replies::renew(read_one(array(text(many), now)), 101).why(), fault::garbled);
}

TEST(replies, session_records_are_opened_closed_and_denied) {
  EXPECT_EQ(replies::open(read_one(integer("1"))), fault::none);
  EXPECT_EQ(replies::open(read_one(integer("0"))), fault::garbled);
  EXPECT_EQ(replies::open(read_one(failure("HFDENIED by a: b"))), fault::denied);
  EXPECT_TRUE(*replies::close(read_one(integer("1"))));
  EXPECT_FALSE(*replies::close(read_one(integer("0"))));
  EXPECT_EQ(replies::close(read_one(integer("2"))).why(), fault::garbled);

  const auto fresh = replies::deny(read_one(array(integer("1"), integer("30000"))));
  ASSERT_TRUE(fresh);
  EXPECT_FALSE(fresh->already);
  EXPECT_TRUE(fresh->had_record);
  EXPECT_EQ(fresh->ttl, 30s);
  EXPECT_TRUE(replies::deny(read_one(array(integer("0"), integer("1"))))->already);
  const auto endless = replies::deny(read_one(array(integer("1"), integer("9007199254740991"))));
  EXPECT_EQ(endless->ttl, core::ttl_max) << "what is counted from it has to stay a duration";
  EXPECT_FALSE(replies::deny(read_one(array(integer("2"), integer("0"))))->had_record);
  EXPECT_EQ(replies::deny(read_one(array(integer("3"), integer("0")))).why(), fault::garbled);
  EXPECT_EQ(replies::deny(read_one(array(integer("1"), integer("-1")))).why(), fault::garbled);
}

TEST(replies, a_page_has_sessions_and_locks) {
  const auto session = array(text("5e55"), integer("900"), array(text("host"), text("h")));
  const auto lock = array(text("a"), text("value"), integer("1500"), integer("42"));
  const auto r =
      replies::list(read_one(array(text("17"), array(session), array(lock), text("theirs"))));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->next, "17");
  ASSERT_EQ(r->sessions.size(), 1U);
  EXPECT_EQ(r->sessions[0].id, "5e55");
  EXPECT_EQ(r->sessions[0].left, 900ms);
  EXPECT_EQ(r->sessions[0].fields["host"], "h");
  EXPECT_EQ(r->sessions[0].fields["pid"], "");
  ASSERT_EQ(r->locks.size(), 1U);
  EXPECT_EQ(r->locks[0].name, "a");
  EXPECT_EQ(r->locks[0].value, "value");
  EXPECT_EQ(r->locks[0].left, 1500ms);
  EXPECT_EQ(r->locks[0].counter, 42U);
  EXPECT_EQ(r->withheld, "theirs");
}

TEST(replies, a_damaged_page_is_no_page) {
  const auto page_of = [](const std::string& cursor, const std::string& session,
                          const std::string& lock) {
    return replies::list(read_one(array(cursor, array(session), array(lock), text("")))).why();
  };
  const auto session = array(text("5e55"), integer("-1"), array());
  const auto lock = array(text("a"), text("v"), integer("1"), integer("0"));
  EXPECT_EQ(page_of(text("0"), session, lock), fault::none);
  EXPECT_EQ(page_of(text(""), session, lock), fault::garbled);
  EXPECT_EQ(page_of(text("x"), session, lock), fault::garbled);
  EXPECT_EQ(page_of(integer("0"), session, lock), fault::garbled);
  EXPECT_EQ(page_of(text("0"), array(text("a"), integer("1"), array(text("odd"))), lock),
            fault::garbled);
  EXPECT_EQ(page_of(text("0"), array(text("a"), integer("-2"), array()), lock), fault::garbled);
  EXPECT_EQ(page_of(text("0"), session, array(text("a"), text("v"), integer("1"))), fault::garbled);
  for (const char* counter : {"-1", above}) {
    EXPECT_EQ(
        page_of(text("0"), session, array(text("a"), text("v"), integer("1"), integer(counter))),
        fault::garbled);
  }
  EXPECT_EQ(replies::list(read_one(failure("NOPERM x"))).why(), fault::permission);
  EXPECT_EQ(replies::list(read_one(array(text("0"), array(), array(), integer("1")))).why(),
            fault::garbled);
  EXPECT_EQ(replies::list(read_one(array(text("0"), array(), array()))).why(), fault::garbled);
}

struct stored_record {
  std::string id{text("id")};
  std::string nonce{text("nonce")};
  std::string epoch{text("3")};
  std::string run_id{text("run")};
  std::string floor{text("44")};
  std::string max_ttl{text("60000")};
  std::string last_time{text("1700000000000000")};
  std::string config_hash{text("cafe")};
  std::string durable{text("1")};
  std::string kept_epoch{text("0")};
};

reading<node_reading> look_at(const stored_record& r) {
  return replies::look(read_one(array(now, r.id, r.nonce, r.epoch, r.run_id, r.floor, r.max_ttl,
                                      r.last_time, r.config_hash, r.durable, r.kept_epoch)));
}

TEST(replies, look_reads_the_whole_record) {
  const auto r = look_at({});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->time, at);
  const core::redlock::node_record expected{.id = "id",
                                            .nonce = "nonce",
                                            .epoch = 3,
                                            .run_id = "run",
                                            .floor = 44,
                                            .max_ttl = 60s,
                                            .last_time = at,
                                            .config_hash = "cafe",
                                            .durable = true};
  EXPECT_EQ(r->record, expected);
}

TEST(replies, an_epoch_is_kept_only_while_there_is_none) {
  EXPECT_EQ(look_at({.epoch = text("0"), .kept_epoch = text("7")})->record->kept_epoch, 7U);
  EXPECT_EQ(look_at({.epoch = text("8"), .kept_epoch = text("7")})->record->kept_epoch, 0U);
  for (const auto& odd : {text("x"), text("-1"), text(above), std::string("$-1\r\n"), now}) {
    EXPECT_EQ(look_at({.epoch = text("0"), .kept_epoch = odd})->record->kept_epoch, 0U) << odd;
  }
}

TEST(replies, look_tells_a_node_without_a_record) {
  const auto r = replies::look(read_one(array(now)));
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->record);
  EXPECT_EQ(replies::look(read_one(array(now, now))).why(), fault::garbled);
  EXPECT_EQ(replies::look(read_one(array(integer("-1")))).why(), fault::garbled);
  EXPECT_EQ(replies::look(read_one(failure("LOADING x"))).why(), fault::loading);
}

TEST(replies, a_record_that_lacks_what_it_knew_of_its_locks_is_of_no_process) {
  for (const char* null : {"$-1\r\n", "_\r\n"}) {
    for (auto field : {&stored_record::run_id, &stored_record::floor, &stored_record::last_time,
                       &stored_record::durable}) {
      stored_record s;
      s.*field = null;
      const auto r = look_at(s);
      ASSERT_TRUE(r && r->record);
      EXPECT_EQ(r->record->run_id, "");
      EXPECT_EQ(r->record->nonce, "nonce") << "by which it can be replaced";
      EXPECT_EQ(r->record->epoch, 3U);
    }
  }
  for (const auto& floor : {text("x"), text("-1"), text(above), text("01"), text(""), now}) {
    const auto r = look_at({.floor = floor});
    ASSERT_TRUE(r && r->record) << floor;
    EXPECT_EQ(r->record->run_id, "") << floor;
    EXPECT_FALSE(r->record->durable);
  }
}

TEST(replies, a_record_that_cannot_be_named_or_waited_for_is_garbled) {
  for (const char* null : {"$-1\r\n", "$0\r\n\r\n", ":1\r\n"}) {
    for (auto field : {&stored_record::id, &stored_record::nonce, &stored_record::epoch,
                       &stored_record::max_ttl, &stored_record::config_hash}) {
      stored_record s;
      s.*field = null;
      EXPECT_EQ(look_at(s).why(), fault::garbled) << null;
    }
  }
  EXPECT_EQ(look_at({.epoch = text("03")}).why(), fault::garbled);
  EXPECT_EQ(look_at({.epoch = text(above)}).why(), fault::garbled);
  EXPECT_EQ(look_at({.max_ttl = text("0")}).why(), fault::garbled);
  EXPECT_EQ(look_at({.max_ttl = text(largest)}).why(), fault::garbled) << "longer than any clock";
  EXPECT_EQ(look_at({.max_ttl = text("9223372036854")}).why(), fault::garbled) << "no room for rho";
  EXPECT_EQ(look_at({.max_ttl = text("3600001")}).why(), fault::garbled) << "no store has it";
  EXPECT_TRUE(look_at({.max_ttl = text("3600000")}));
}

TEST(replies, seal_reads_the_floor_or_why_not) {
  auto r = replies::seal(read_one(integer("500")));
  EXPECT_EQ(r.what, seal_reply::result::sealed);
  EXPECT_EQ(r.floor, 500U);
  EXPECT_EQ(replies::seal(read_one(integer("0"))).what, seal_reply::result::sealed);
  r = replies::seal(read_one(failure("HFEPOCH 7 is not below 7")));
  EXPECT_EQ(r.what, seal_reply::result::refused);
  EXPECT_EQ(r.epoch, 7U);
  r = replies::seal(read_one(failure("HFNOTADMITTED its nonce is another")));
  EXPECT_EQ(r.what, seal_reply::result::refused);
  EXPECT_EQ(r.epoch, 0U);
  for (const std::string& bytes : {integer("-1"), integer(above), text("500"), failure("HFEPOCH x"),
                                   failure("LOADING x"), array()}) {
    EXPECT_EQ(replies::seal(read_one(bytes)).what, seal_reply::result::failed) << bytes;
  }
}

TEST(replies, write_was_done_or_changed_or_nobody_knows) {
  EXPECT_EQ(replies::write(read_one(integer("1"))), write_reply::written);
  EXPECT_EQ(replies::write(read_one(integer("0"))), write_reply::changed);
  for (const char* odd : {":2\r\n", "+OK\r\n", "-HFCOUNTER x\r\n", "_\r\n", "#t\r\n"}) {
    EXPECT_EQ(replies::write(read_one(odd)), write_reply::failed) << odd;
  }
}

TEST(replies, time_is_seconds_and_microseconds) {
  EXPECT_EQ(*replies::time(read_one(array(text("1700000000"), text("42")))), at + 42us);
  for (const std::string& bytes :
       {array(text("1700000000"), text("1000000")), array(text("-1"), text("0")),
        array(text("9007199254"), text("740993")), array(text(largest), text("0")),
        array(integer("1"), integer("2")), array(text("1")), text("1")}) {
    EXPECT_EQ(replies::time(read_one(bytes)).why(), fault::garbled) << bytes;
  }
}

TEST(replies, a_script_is_loaded_under_its_own_name_only) {
  const script& s = scripts::look;
  EXPECT_EQ(replies::load(read_one(text(std::string(s.sha1))), s), fault::none);
  EXPECT_EQ(replies::load(read_one(text(std::string(scripts::seal.sha1))), s), fault::garbled);
  EXPECT_EQ(replies::load(read_one(failure("NOPERM x")), s), fault::permission);
}

TEST(replies, a_peek_tells_whether_the_key_is_there) {
  EXPECT_EQ(replies::peek(read_one("$-1\r\n")), false);
  EXPECT_EQ(replies::peek(read_one("_\r\n")), false);
  EXPECT_EQ(replies::peek(read_one(text("any"))), true);
  EXPECT_EQ(replies::peek(read_one(failure("WRONGTYPE x"))), true) << "no lock, and in the way";
  EXPECT_EQ(replies::peek(read_one(text(std::string(600'000, 'x')))), true) << "too long to keep";
  EXPECT_EQ(replies::peek(read_one(failure("NOPERM x"))), std::nullopt);
  EXPECT_EQ(replies::peek(read_one(integer("1"))), true);
  EXPECT_EQ(replies::peek(read_one(integer("0"))), false);
}

TEST(replies, only_what_has_the_size_of_a_value_is_read_for_its_holder) {
  EXPECT_TRUE(replies::may_name_holder(read_one(integer("73"))));
  for (const auto& other : {integer("0"), integer("40"), integer("600000"), text("73")}) {
    EXPECT_FALSE(replies::may_name_holder(read_one(other))) << other;
  }
}

TEST(replies, a_holder_is_the_session_in_the_value) {
  const std::string id(32, 'a');
  EXPECT_EQ(replies::holder(read_one(text("0f." + id))), session_id::parse(id));
  for (const auto& other : {text("0f"), text("0f.aa"), failure("NOPERM x." + id)}) {
    EXPECT_EQ(replies::holder(read_one(other)), std::nullopt) << other;
  }
}

TEST(replies, messages_of_a_channel_name_the_lock) {
  const auto call =
      read_one(array(text("message"), text(seat_channel("a lock", 7)), text("released")));
  EXPECT_EQ(replies::freed(call)->name, "a lock");
  EXPECT_TRUE(replies::freed(call)->calls);
  auto push = read_one(array(text("message"), text(free_channel("7:a")), text("released")));
  push.kind = wire::reply_kind::push;
  EXPECT_EQ(replies::freed(push)->name, "7:a");
  EXPECT_FALSE(replies::freed(push)->calls);
  for (const bool calls : {false, true}) {
    const std::string channel = calls ? seat_channel("@4:a", 7, 3) : free_channel("@4:a", 3);
    const auto scoped = read_one(array(text("message"), text(channel), text("released")));
    ASSERT_TRUE(replies::freed(scoped));
    EXPECT_EQ(replies::freed(scoped)->name, "@4:a");
    EXPECT_EQ(replies::freed(scoped)->calls, calls);
  }
  for (const std::string& bytes :
       {array(text("message"), text("elsewhere:all:a"), text("x")), array(text("message")),
        array(text("message"), text("holdfast:free:a"), text("x")),
        array(text("message"), text("holdfast:free:@3"), text("x")),
        array(text("message"), text("holdfast:free:@3:a"), text("x")),
        array(text("subscribe"), text("holdfast:free:a"), integer("1")), text("message")}) {
    const auto other = read_one(bytes);
    EXPECT_FALSE(replies::freed(other)) << bytes;
  }
  EXPECT_EQ(
      replies::subscribe(read_one(array(text("subscribe"), text("holdfast:free:a"), integer("1")))),
      fault::none);
  EXPECT_EQ(replies::subscribe(read_one(failure("NOPERM x"))), fault::permission);
  EXPECT_EQ(replies::subscribe(read_one("+OK\r\n")), fault::garbled);
}

TEST(replies, a_denial_is_told_with_who_and_why_and_nothing_for_a_terminal) {
  const auto denial = [](const std::string& line) {
    return replies::denial_text(read_one(failure(line)));
  };
  EXPECT_EQ(denial("HFDENIED by ann: it hangs"), "an operator (ann) denied it: it hangs");
  EXPECT_EQ(denial("HFDENIED by ann: "), "an operator (ann) denied it");
  EXPECT_EQ(denial("HFDENIED"), "an operator denied it");
  EXPECT_EQ(denial("HFDENIED by a\x1b[2J: b"), "an operator (a?[2J) denied it: b");
  EXPECT_EQ(denial("OOM"), "an operator denied it");
  EXPECT_LT(denial("HFDENIED by a: " + std::string(5000, 'x')).size(), 400U);
}

}  // namespace
}  // namespace holdfast::engines::redlock
