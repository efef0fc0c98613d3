#include "engines/redis/replies.hpp"

#include "core/lease.hpp"

#include <gtest/gtest.h>

namespace holdfast::engines::redis {
namespace {

using core::status;
using wire::reply;
using wire::reply_kind;

reply text(std::string t) { return {.kind = reply_kind::text, .text = std::move(t)}; }
reply number(std::int64_t n) { return {.kind = reply_kind::integer, .integer = n}; }
reply failure(std::string t) { return {.kind = reply_kind::error, .text = std::move(t)}; }
reply array(std::vector<reply> e) { return {.kind = reply_kind::array, .elements = std::move(e)}; }
reply null() { return {}; }

const std::string id = "000102030405060708090a0b0c0d0e0f";

reply record(const std::string& ttl = "30000000000") {
  return array({text("inc"), text("5"), text("beat"), text("7"), text("denied"), text("0"),
                text("gate"), text("1"), text("ttl"), text(ttl), text("label"), text("mine")});
}

reply queued(const std::string& mine = "9") {
  return array({number(2), text(mine), number(0),
                array({text("8:" + id + ":5:1:x:17:"), text("9:" + id + ":5:2:x:18:abc")}),
                array({text(id + " 5 7 0 30000000000 1 2 42")}), record()});
}

TEST(replies, a_grant_has_its_token) {
  const auto v = replies::view(array({number(1), text("12"), number(1)}));
  EXPECT_EQ(v.reply.what, status::ok);
  EXPECT_EQ(v.reply.mine, token{12});
  EXPECT_TRUE(v.left);
}

TEST(replies, a_waiter_sees_who_is_ahead_and_whom_to_watch) {
  const auto v = replies::view(queued());
  ASSERT_EQ(v.reply.what, status::queued);
  ASSERT_EQ(v.reply.ahead.size(), 1U);
  const auto& r = v.reply.ahead[0];
  EXPECT_EQ(r.order, token{8});
  EXPECT_EQ(r.owner.str(), id);
  EXPECT_EQ(r.at, (core::version{5, 7, false}));
  EXPECT_EQ(r.ttl, std::chrono::seconds{30});
  EXPECT_EQ(r.where, (core::life_place{1, 2}));
  EXPECT_EQ(r.pid, 42);
  EXPECT_EQ(v.reply.targets, std::vector<token>{token{8}});
  ASSERT_TRUE(v.reply.first);
  EXPECT_EQ(v.reply.first->owner.label, "mine");
}

TEST(replies, a_time_that_no_clock_shows_is_read_as_a_nearer_one) {
  auto far = queued();
  far.elements[3].elements[0] = text("8:" + id + ":5:1:x:9223372036854775807:");
  const auto v = replies::view(far);
  ASSERT_EQ(v.reply.ahead.size(), 1U);
  EXPECT_LT(v.reply.ahead[0].since, wall_time::max());
}

TEST(replies, an_arrival_of_another_mode_sees_who_is_there) {
  const auto conflict = [](const std::string& mine, const std::string& member) {
    return replies::view(array({number(4), text(mine), number(0), array({text(member)}),
                                array({text(id + " 5 7 0 30000000000 1 2 42")}), record()}));
  };
  const auto v = conflict("0", "8:" + id + ":5:1:p3:17:").reply;
  ASSERT_EQ(v.what, status::conflicting);
  ASSERT_EQ(v.ahead.size(), 1U);
  EXPECT_EQ(v.ahead[0].owner.str(), id);
  EXPECT_EQ(v.ahead[0].how, mode::permits(3));
  EXPECT_EQ(conflict("9", "8:" + id + ":5:1:p3:17:").reply.what, status::unknown);
  EXPECT_EQ(conflict("0", "").reply.what, status::unknown);
}

/// Every reply that is not quite one: no answer may be made of it.
TEST(replies, a_view_with_one_part_missing_or_strange_is_unknown) {
  const reply good = queued();
  for (std::size_t i = 0; i < good.elements.size(); ++i) {
    for (const reply& strange : {null(), number(-1), text("x"), array({null()})}) {
      reply bad = good;
      bad.elements[i] = strange;
      EXPECT_EQ(replies::view(bad).reply.what, status::unknown) << i;
    }
    reply less = good;
    less.elements.erase(less.elements.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(replies::view(less).reply.what, status::unknown) << i;
  }
  EXPECT_EQ(replies::view(queued("10")).reply.what, status::unknown) << "its own is not there";
  EXPECT_EQ(replies::view(queued("0")).reply.what, status::unknown);
  EXPECT_EQ(replies::view(queued("9007199254740992")).reply.what, status::unknown);
}

TEST(replies, entries_of_another_form_are_unknown) {
  for (const std::string& entry : std::vector<std::string>{
           "", "8", "8:" + id, "8:" + id + ":5:1:q:17:", "8:" + id + ":5:1:p0:17:",
           "8:" + id + ":5:1:x:when:", "0:" + id + ":5:1:x:17:", "8:zz:5:1:x:17:",
           "10:" + id + ":5:1:x:17:", "8:" + id + ":5:-1:x:17:"}) {
    reply bad = queued();
    bad.elements[3].elements[0] = text(entry);
    EXPECT_EQ(replies::view(bad).reply.what, status::unknown) << entry;
  }
}

TEST(replies, sessions_of_another_form_are_unknown) {
  const std::string good = id + " 5 7 0 30000000000 1 2 42";
  for (const std::string& session : {std::string(), id, good + "x", good.substr(0, good.size() - 3),
                                     id + " 5 7 2 30000000000 1 2 42",
                                     id + " 5 7 0 9223372036854775807 1 2 42", good.substr(1)}) {
    reply bad = queued();
    bad.elements[4].elements[0] = text(session);
    EXPECT_EQ(replies::view(bad).reply.what, status::unknown) << session;
  }
}

TEST(replies, a_session_with_a_ttl_that_none_may_have_is_unknown) {
  const auto all_read = [](std::int64_t count) {
    const auto ttl = std::to_string(count);
    reply brief = queued();
    brief.elements[4].elements[0] = text(id + " 5 7 0 " + ttl + " 1 2 42");
    reply whole = queued();
    whole.elements[5] = record(ttl);
    const reply glanced = array({text(id + " 5 7 0 " + ttl + " 1 2")});
    return std::vector{replies::view(brief).reply.what, replies::view(whole).reply.what,
                       replies::glance(glanced).reply.what,
                       replies::deny(array({number(0), text(ttl), number(0)})).reply.what};
  };
  const std::vector read{status::queued, status::queued, status::ok, status::ok};
  for (const auto good : {core::ttl_min.count(), core::ttl_max.count()}) {
    EXPECT_EQ(all_read(good), read) << good;
  }
  for (const auto bad :
       {std::int64_t{-1}, std::int64_t{0}, core::ttl_min.count() - 1, core::ttl_max.count() + 1}) {
    EXPECT_EQ(all_read(bad), std::vector(4, status::unknown)) << bad;
  }
}

TEST(replies, a_listing_names_the_session_whose_record_is_damaged) {
  const auto listed = [](const std::string& ttl) {
    return array({array({array({text(id), record(ttl)})}), array({}), text("0"), array({})});
  };
  EXPECT_TRUE(replies::list(listed("30000000000")));
  for (const auto* ttl : {"0", "-1", "soon"}) {
    EXPECT_FALSE(replies::list(listed(ttl)));
    for (const auto& why :
         {replies::refusal_of_list(listed(ttl)),
          core::reply(replies::glance(array({array({text(id), record(ttl)})})).reply)}) {
      EXPECT_EQ(why.what, status::damaged) << ttl;
      EXPECT_NE(why.text.find(id), std::string::npos) << why.text;
    }
  }
  EXPECT_EQ(replies::refusal_of_list(text("x")).what, status::unknown);
}

TEST(replies, a_brief_session_has_the_place_of_its_life_lock) {
  const auto seen = replies::glance(array({text(std::string(32, 'a') + " 5 7 1 100000000 3 4")}));
  ASSERT_EQ(seen.reply.there.size(), 1U);
  EXPECT_EQ(seen.reply.there[0].at, (core::version{5, 7, true}));
  EXPECT_EQ(seen.reply.there[0].where, (core::life_place{3, 4}));
  const auto without = replies::glance(array({text(std::string(32, 'a') + " 5 7 1 100000000")}));
  EXPECT_EQ(without.reply.what, status::unknown);
}

TEST(replies, a_refusal_of_a_script_has_its_status_and_its_reason) {
  const auto what = [](const std::string& t) { return replies::view(failure(t)).reply.what; };
  EXPECT_EQ(what("HFGONE x"), status::gone);
  EXPECT_EQ(what("HFNOTADMITTED x"), status::unavailable);
  EXPECT_EQ(what("HFMANY 10000"), status::too_many);
  EXPECT_EQ(what("HFDAMAGED x"), status::damaged);
  EXPECT_EQ(what("HFGONEx"), status::unknown);
  EXPECT_EQ(what("OOM command not allowed"), status::unavailable);
  EXPECT_EQ(what("READONLY You can't write"), status::unavailable);
  EXPECT_EQ(what("WRONGTYPE Operation"), status::damaged);
  EXPECT_EQ(what("NOPERM this user may not run 'zadd'"), status::unknown);
  for (const char* of_the_script : {"NOPERM User a has no permissions to run the 'evalsha' command",
                                    "NOPERM this user has no permissions to run the 'evalsha' "
                                    "command or its subcommand"}) {
    EXPECT_EQ(what(of_the_script), status::unavailable) << of_the_script;
  }
  EXPECT_EQ(what("ERR whatever"), status::unknown);
  EXPECT_EQ(replies::view(failure("NOPERM this user may not run 'zadd'")).reply.text,
            "the server answered: NOPERM this user may not run 'zadd' (allow +zadd: docs/redis.md, "
            "\"Access\")");
  EXPECT_EQ(replies::view(failure("OOM command not allowed")).reply.text,
            "the server answered: OOM command not allowed (it is full: free memory or raise its "
            "maxmemory)");
  const auto denied = replies::view(failure("HFDENIED op\ttoo slow: hangs")).reply;
  EXPECT_EQ(denied.what, status::denied);
  EXPECT_EQ(denied.text, "an operator (op) denied it: too slow: hangs");
  const auto gate = replies::view(failure("HFGATE 7")).reply;
  EXPECT_EQ(gate.what, status::stale_gate);
  EXPECT_EQ(gate.gate, 7U);
}

TEST(replies, a_record_of_the_store_and_what_is_missing_in_it) {
  const std::vector<reply> all{text("1"),   text("0123456789abcdef"),
                               text("run"), text("1"),
                               text("99"),  text("60000000000"),
                               text("0"),   null(),
                               null(),      text("3")};
  const auto whole = replies::look(array(all));
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->there && whole->whole && whole->admitted);
  EXPECT_EQ(whole->floor, 99U);
  EXPECT_EQ(whole->max_ttl, std::chrono::seconds{60});
  EXPECT_FALSE(whole->uncleaned);
  EXPECT_EQ(whole->database, "3");
  for (std::size_t i = 0; i < 7; ++i) {
    auto some = all;
    some[i] = null();
    const auto part = replies::look(array(some));
    ASSERT_TRUE(part);
    EXPECT_TRUE(part->there);
    EXPECT_FALSE(part->whole) << i;
  }
  const auto none = replies::look(array(std::vector<reply>(10)));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->there);
  EXPECT_FALSE(replies::look(failure("WRONGTYPE")));
}

TEST(replies, a_push_is_a_wake_up_only_on_its_channel) {
  const auto push = [](const std::string& channel, const std::string& message) {
    return reply{.kind = reply_kind::push,
                 .elements = {text("message"), text(channel), text(message)}};
  };
  const auto hint = replies::woken(push("holdfast:wake:ab", "12"));
  ASSERT_TRUE(hint);
  EXPECT_EQ(hint->order, token{12});
  EXPECT_EQ(hint->life, "");
  const auto message = push("holdfast:wake:ab", "12+holdfast:1f:");
  const auto given = replies::woken(message);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->order, token{12});
  EXPECT_EQ(given->life, "holdfast:1f:");
  const auto cut = push("holdfast:wake:ab", "12+");
  EXPECT_EQ(replies::woken(cut)->life, "");
  EXPECT_FALSE(replies::woken(push("holdfast:wake:ab", "+")));
  EXPECT_FALSE(replies::woken(push("holdfast:free:ab", "12")));
  EXPECT_FALSE(replies::woken(push("holdfast:wake:ab", "0")));
  EXPECT_FALSE(replies::woken(push("holdfast:wake:ab", "12x")));
  EXPECT_FALSE(replies::woken(reply{.kind = reply_kind::push}));
}

}  // namespace
}  // namespace holdfast::engines::redis
