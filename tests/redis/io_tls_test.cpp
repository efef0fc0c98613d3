#include "io/peer_fixture.hpp"
#include "tests/redis/tls_fixture.hpp"

namespace holdfast::io {
namespace {

using redis_tests::address_of;

class redis_tls : public tls_fixture {
 protected:
  /// Why a server with this certificate is not accepted.
  std::string refusal_of(const certificate& c, const tls_options& tls, const char* host) const {
    redis_tests::server server({.tls = true, .settings = settings(c)});
    auto address = address_of(server);
    address.host = host;
    redis_client client(to(address, tls));
    const auto why = client.events->wait_down();
    EXPECT_FALSE(client.send(1, bytes_of("PING")));
    return why;
  }
};

TEST_F(redis_tls, a_trusted_certificate_with_the_right_name_works_by_name_and_by_address) {
  redis_tests::server server({.tls = true, .settings = settings(good_)});
  for (const char* host : {"localhost", "127.0.0.1"}) {
    auto address = address_of(server);
    address.host = host;
    redis_client client(to(address, trusting_ca()));
    client.events->wait_up();
    const auto before = client.connection->count();
    client.in_one_turn([&] {
      for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(client.send(i, bytes_of("INCR", host)));
    });
    EXPECT_EQ(client.answers->wait(99).reply.integer, 100);
    EXPECT_EQ(client.connection->count().writes - before.writes, 1U);
    const std::string value(300'000, 'x');
    EXPECT_TRUE(client.ask(200, bytes_of("SET", "k", value)).reply.is_ok());
    EXPECT_EQ(client.ask(201, bytes_of("GET", "k")).reply.text, value);
  }
}

TEST_F(redis_tls, threads_share_one_connection) {
  redis_tests::server server({.tls = true, .settings = settings(good_)});
  redis_client client(to(address_of(server), trusting_ca()));
  client.events->wait_up();
  std::vector<std::thread> all;
  for (std::uint64_t t = 0; t < 4; ++t) {
    all.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        ASSERT_TRUE(client.send(t * 200 + i, bytes_of("INCR", "n")));
      }
    });
  }
  for (auto& t : all) t.join();
  client.answers->wait_for_count(800);
}

TEST_F(redis_tls, a_self_signed_certificate_is_refused_with_its_reason) {
  const certificate own(
      {.directory = directory_.path(), .name = "own", .alternative = "IP:127.0.0.1"});
  const auto why = refusal_of(own, trusting_ca(), "127.0.0.1");
  EXPECT_TRUE(contains(why, "self-signed") || contains(why, "self signed")) << why;
  EXPECT_TRUE(contains(why, "ca=")) << why;
}

TEST_F(redis_tls, a_ca_that_is_not_given_is_not_trusted) {
  const auto why = refusal_of(good_, {}, "127.0.0.1");
  EXPECT_TRUE(contains(why, "not accepted")) << why;
}

TEST_F(redis_tls, a_wrong_name_is_refused_unless_only_the_ca_counts) {
  const certificate other({.directory = directory_.path(),
                           .name = "other",
                           .alternative = "DNS:elsewhere,IP:10.9.8.7",
                           .issuer = &ca_});
  auto why = refusal_of(other, trusting_ca(), "localhost");
  EXPECT_TRUE(contains(why, "ostname mismatch")) << why;
  why = refusal_of(other, trusting_ca(), "127.0.0.1");
  EXPECT_TRUE(contains(why, "IP address mismatch")) << why;

  redis_tests::server server({.tls = true, .settings = settings(other)});
  auto lenient = trusting_ca();
  lenient.verify = tls_options::verification::ca;
  redis_client client(to(address_of(server), lenient));
  client.events->wait_up();
}

TEST_F(redis_tls, an_expired_certificate_is_refused_with_its_reason) {
  const certificate old({.directory = directory_.path(),
                         .name = "old",
                         .alternative = "IP:127.0.0.1",
                         .valid_seconds = -3600,
                         .issuer = &ca_});
  const auto why = refusal_of(old, trusting_ca(), "127.0.0.1");
  EXPECT_TRUE(contains(why, "expired")) << why;
  EXPECT_TRUE(contains(why, "renew")) << why;
}

TEST_F(redis_tls, a_server_that_wants_a_client_certificate_gets_it_or_says_so) {
  redis_tests::server server({.tls = true, .settings = settings(good_, "yes")});
  redis_client without(to(address_of(server), trusting_ca()));
  const auto why = without.events->wait_down();
  EXPECT_TRUE(contains(why, "certificate required")) << why;
  redis_client with(to(address_of(server), showing(good_)));
  with.events->wait_up();
}

TEST_F(redis_tls, never_falls_back_to_plain_text) {
  redis_tests::server plain;
  redis_client client(to(address_of(plain), trusting_ca()));
  const auto why = client.events->wait_down();
  EXPECT_TRUE(contains(why, "does not speak TLS")) << why;
  std::string seen;
  peer listener([&](const peer::client& c, int number) {
    if (number == 0) seen = c.read();
    c.write("-ERR what?\r\n");
  });
  auto secret = to(listener.address(), trusting_ca());
  secret.login.password = "s3cret";
  redis_client other(secret);
  const auto refused = other.events->wait_down();
  EXPECT_TRUE(contains(refused, "does not speak TLS")) << refused;
  EXPECT_FALSE(contains(seen, "s3cret"));
  EXPECT_FALSE(contains(seen, "HELLO"));
}

TEST_F(redis_tls, plain_text_to_a_tls_port_says_what_to_do) {
  redis_tests::server server({.tls = true, .settings = settings(good_)});
  redis_client client(address_of(server));
  const auto why = client.events->wait_down();
  EXPECT_TRUE(contains(why, "handshake") || contains(why, "+tls")) << why;
}

TEST_F(redis_tls, files_that_cannot_be_used_are_named) {
  const std::string none = directory_.path() + "/none";
  for (const auto& [options, named] : std::vector<std::pair<tls_options, std::string>>{
           {{.ca_file = none}, none},
           {{.certificate_file = none, .key_file = good_.key_file()}, none},
           {{.certificate_file = good_.certificate_file(), .key_file = ca_.key_file()},
            ca_.key_file()},
           {{.certificate_file = good_.certificate_file()}, "key="}}) {
    const auto made = tls_context::make(options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error(), errc::invalid_argument);
    EXPECT_TRUE(contains(made.error().message(), named)) << made.error().message();
  }
}

}  // namespace
}  // namespace holdfast::io
