#include "io/redis/redis_handshake.hpp"

#include <gtest/gtest.h>

namespace holdfast::io {
namespace {

using wire::reply;
using wire::reply_kind;

reply text(reply_kind kind, std::string value) { return {.kind = kind, .text = std::move(value)}; }
reply failed(std::string value) { return text(reply_kind::error, std::move(value)); }
reply ok() { return text(reply_kind::status, "OK"); }
reply hello() {
  return {.kind = reply_kind::map,
          .elements = {text(reply_kind::text, "version"), text(reply_kind::text, "7.0.15"),
                       text(reply_kind::text, "mode"), text(reply_kind::text, "standalone"),
                       text(reply_kind::text, "role"), text(reply_kind::text, "master")}};
}
reply info() {
  return text(reply_kind::text,
              "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:abc\r\n\r\n"
              "# Replication\r\nrole:master\r\n");
}

const redis_login all_of_it{
    .user = "ann", .password = "s3cret", .client_name = "holdfast", .database = 4};

TEST(redis_handshake, speaks_resp3_and_learns_who_answers) {
  redis_handshake h(all_of_it);
  EXPECT_NE(h.start().find("ann\r\n$6\r\ns3cret"), std::string::npos);
  const auto next = h.on_reply(hello());
  ASSERT_TRUE(next);
  EXPECT_NE(next->find("SELECT"), std::string::npos);
  EXPECT_NE(next->find("SETNAME"), std::string::npos);
  EXPECT_NE(next->find("INFO"), std::string::npos);
  EXPECT_TRUE(h.on_reply(ok()));
  EXPECT_TRUE(h.on_reply(ok()));
  EXPECT_FALSE(h.done());
  EXPECT_TRUE(h.on_reply(info()));
  EXPECT_TRUE(h.done());
  EXPECT_EQ(h.facts().protocol, 3);
  EXPECT_EQ(h.facts().run_id, "abc");
  EXPECT_EQ(h.facts().role, "master");
  EXPECT_EQ(h.facts().info.at("redis_version"), "7.0.15");
}

TEST(redis_handshake, falls_back_to_resp2_and_auth) {
  redis_handshake h({.user = "ann", .password = "s3cret"});
  h.start();
  const auto next = h.on_reply(failed("ERR unknown command `HELLO`, with args: `3`, `s3cret`"));
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$6\r\ns3cret\r\n");
  EXPECT_EQ(*h.on_reply(ok()), "*1\r\n$4\r\nINFO\r\n");
  EXPECT_TRUE(h.on_reply(info()));
  EXPECT_TRUE(h.done());
  EXPECT_EQ(h.facts().protocol, 2);
}

TEST(redis_handshake, falls_back_to_auth_of_the_default_user) {
  redis_handshake h({.password = "s3cret"});
  h.start();
  const auto next = h.on_reply(failed("ERR unknown command `HELLO`, with args: `3`, `s3cret`"));
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, "*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\n");
}

// A replica is found out by that, too.
TEST(redis_handshake, knows_what_hello_has_said_where_info_is_refused) {
  redis_handshake h(redis_login{});
  h.start();
  auto said = hello();
  said.elements.back().text = "replica";
  ASSERT_TRUE(h.on_reply(said));
  ASSERT_TRUE(h.on_reply(failed("NOPERM this user has no permissions to run 'info'")));
  EXPECT_TRUE(h.done());
  EXPECT_EQ(h.facts().version, "7.0.15");
  EXPECT_EQ(h.facts().mode, "standalone");
  EXPECT_EQ(h.facts().role, "replica");
  EXPECT_NE(h.facts().info_refused.find("NOPERM"), std::string::npos);
}

TEST(redis_handshake, calls_a_replica_what_info_calls_it_also_where_that_says_nothing_of_it) {
  redis_handshake h(redis_login{});
  h.start();
  auto said = hello();
  said.elements.back().text = "replica";
  ASSERT_TRUE(h.on_reply(said));
  ASSERT_TRUE(h.on_reply(text(reply_kind::text, "redis_version:7.0.15\r\n")));
  EXPECT_EQ(h.facts().role, "slave");
}

TEST(redis_handshake, never_shows_a_password_whatever_the_server_says) {
  for (const char* said : {"WRONGPASS s3cret", "NOAUTH s3cret", "ERR s3cret", "s3cret"}) {
    for (const bool in_auth : {false, true}) {
      redis_handshake h({.user = "ann", .password = "s3cret"});
      h.start();
      if (in_auth) static_cast<void>(h.on_reply(failed("ERR unknown command")));
      const auto next = h.on_reply(failed(said));
      if (!in_auth && next) continue;
      ASSERT_FALSE(next) << said;
      EXPECT_EQ(next.error().message().find("s3cret"), std::string::npos) << next.error().message();
    }
  }
}

TEST(redis_handshake, a_login_that_is_refused_waits_for_a_person) {
  const auto needs_operator = [](const redis_login& login, const char* said, bool in_auth) {
    redis_handshake h(login);
    h.start();
    if (in_auth) static_cast<void>(h.on_reply(failed("ERR unknown command")));
    const auto next = h.on_reply(failed(said));
    return !next && next.error() == errc::unavailable && next.error().needs_operator();
  };
  EXPECT_TRUE(needs_operator({}, "NOAUTH HELLO must be called", false));
  EXPECT_TRUE(needs_operator(all_of_it, "WRONGPASS invalid", false));
  EXPECT_TRUE(needs_operator(all_of_it, "ERR invalid password", true));
  EXPECT_FALSE(needs_operator(all_of_it, "LOADING Redis is loading", true)) << "it passes";
  EXPECT_FALSE(needs_operator({}, "ERR max number of clients reached", false)) << "it passes";
  redis_handshake h({.database = 99});
  h.start();
  ASSERT_TRUE(h.on_reply(hello()));
  ASSERT_TRUE(h.on_reply(failed("ERR DB index is out of range")));
  ASSERT_FALSE(h.selected());
  EXPECT_TRUE(h.selected().error().needs_operator());
}

TEST(redis_handshake, says_what_is_wrong_with_the_login) {
  const auto message = [](const redis_login& login, const reply& r) {
    redis_handshake h(login);
    h.start();
    const auto next = h.on_reply(r);
    return next ? std::string() : next.error().message();
  };
  EXPECT_NE(message({}, failed("NOAUTH HELLO must be called")).find("wants a password"),
            std::string::npos);
  EXPECT_NE(message(all_of_it, failed("WRONGPASS invalid")).find("password of user 'ann' is wrong"),
            std::string::npos);
  EXPECT_NE(message(all_of_it, failed("WRONGPASS invalid")).find("or not there"),
            std::string::npos);
  const char* name_one = "redlock+tls://USER@HOST?password_file=/PATH";
  const redis_login none{.scheme = "redlock+tls"};
  const redis_login no_user{.password = "s3cret", .scheme = "redlock+tls"};
  EXPECT_NE(message(none, failed("NOAUTH x")).find(name_one), std::string::npos);
  EXPECT_NE(message(no_user, failed("WRONGPASS x")).find(name_one), std::string::npos);
  EXPECT_EQ(message(all_of_it, failed("WRONGPASS x")).find("USER@"), std::string::npos)
      << "it names one";
  EXPECT_NE(message({}, failed("DENIED Redis is running in protected mode")).find("protected"),
            std::string::npos);
  EXPECT_NE(message({}, failed("ERR max number of clients reached")).find("max number"),
            std::string::npos);
  EXPECT_NE(message({}, {.kind = reply_kind::integer}).find("an integer"), std::string::npos);
}

TEST(redis_handshake, a_refused_database_or_info_is_told_beside_the_facts) {
  redis_handshake h({.database = 99});
  h.start();
  ASSERT_TRUE(h.on_reply(hello()));
  ASSERT_TRUE(h.on_reply(failed("ERR DB index is out of range")));
  ASSERT_TRUE(h.on_reply(failed("NOPERM this user has no permissions to run 'info'")));
  ASSERT_TRUE(h.done());
  ASSERT_FALSE(h.selected());
  EXPECT_NE(h.selected().error().message().find("database 99"), std::string::npos);
  EXPECT_TRUE(
      h.selected().error().message().ends_with("use a number below `databases` of the server"));
  EXPECT_NE(h.facts().info_refused.find("NOPERM"), std::string::npos);
  EXPECT_EQ(h.facts().mode, "standalone");
  EXPECT_EQ(h.facts().run_id, "");
}

TEST(redis_handshake, a_user_who_may_not_select_is_told_the_right_to_allow) {
  redis_handshake h({.database = 1});
  h.start();
  ASSERT_TRUE(h.on_reply(hello()));
  ASSERT_TRUE(
      h.on_reply(failed("NOPERM this user has no permissions to run the 'select' command")));
  ASSERT_TRUE(h.on_reply(info()));
  ASSERT_FALSE(h.selected());
  EXPECT_TRUE(h.selected().error().message().ends_with("ACL SETUSER <user> +select"));
}

TEST(redis_handshake, control_characters_of_a_server_do_not_reach_a_terminal) {
  redis_handshake h({.database = 1});
  h.start();
  ASSERT_TRUE(h.on_reply(hello()));
  ASSERT_TRUE(h.on_reply(failed("ERR \x1b[2J" + std::string(10'000, 'x'))));
  EXPECT_EQ(h.selected().error().message().find('\x1b'), std::string::npos);
  EXPECT_LT(h.selected().error().message().size(), 500U);
}

}  // namespace
}  // namespace holdfast::io
