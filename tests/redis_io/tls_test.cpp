#include "io/file/unique_fd.hpp"
#include "io/net/peer_fixture.hpp"
#include "io/net/tls_failure.hpp"
#include "tests/process/child.hpp"
#include "tests/redis_io/tls_fixture.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <string>
#include <thread>

namespace holdfast::io {
namespace {

using redis_tests::address_of;

/// The server's end of TLS 1.3 on one connection, with the records in the test's hand.
class tls_line {
 public:
  tls_line(const peer::client& c, const certificate& own)
      : client_(c), context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_set_min_proto_version(context_, TLS1_3_VERSION);
    SSL_CTX_set_num_tickets(context_, 0);
    EXPECT_EQ(
        SSL_CTX_use_certificate_file(context_, own.certificate_file().c_str(), SSL_FILETYPE_PEM),
        1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_, own.key_file().c_str(), SSL_FILETYPE_PEM), 1);
    // Makes a ticket longer than the smallest record.
    SSL_CTX_set_session_ticket_cb(
        context_,
        [](SSL* s, void*) {
          const std::string much(2000, 'x');
          return SSL_SESSION_set1_ticket_appdata(SSL_get_session(s), much.data(), much.size());
        },
        [](SSL*, SSL_SESSION*, const unsigned char*, std::size_t, SSL_TICKET_STATUS, void*) {
          return SSL_TICKET_RETURN_IGNORE;
        },
        nullptr);
    ssl_ = SSL_new(context_);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl_);
    while (SSL_do_handshake(ssl_) != 1 && goes_on()) {
    }
    client_.write(records());
  }
  tls_line(const tls_line&) = delete;
  tls_line& operator=(const tls_line&) = delete;
  ~tls_line() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

  /// What came next; empty at the end.
  std::string read() {
    char bytes[4096];
    for (;;) {
      const int count = SSL_read(ssl_, bytes, sizeof bytes);
      if (count > 0) return {bytes, static_cast<std::size_t>(count)};
      if (!goes_on()) return {};
    }
  }
  void write(const std::string& text) {
    SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
    client_.write(records());
  }
  /// Ends the stream, and not the connection under it.
  void end() {
    SSL_shutdown(ssl_);
    client_.write(records());
  }
  /// The records of one ticket, which nobody asked for.
  std::string ticket() {
    SSL_set_max_send_fragment(ssl_, 512);
    EXPECT_EQ(SSL_new_session_ticket(ssl_), 1);
    EXPECT_EQ(SSL_do_handshake(ssl_), 1);
    return records();
  }

 private:
  bool goes_on() {
    client_.write(records());
    const auto more = client_.read();
    BIO_write(SSL_get_rbio(ssl_), more.data(), static_cast<int>(more.size()));
    return !more.empty();
  }
  std::string records() {
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(SSL_get_wbio(ssl_), &bytes);
    std::string all(bytes, static_cast<std::size_t>(size));
    BIO_reset(SSL_get_wbio(ssl_));
    return all;
  }

  const peer::client& client_;
  SSL_CTX* context_;
  SSL* ssl_;
};

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
    EXPECT_EQ(client.connection->count().queued_bytes, 0U) << "else nothing more is taken one day";
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
  EXPECT_TRUE(contains(why, "(valid until " + old.ends() + ")")) << why;
}

TEST_F(redis_tls, a_ca_that_has_expired_is_told_from_the_server_s_own_certificate) {
  const certificate old_ca(
      {.directory = directory_.path(), .name = "old_ca", .valid_seconds = -3600});
  const certificate own({.directory = directory_.path(),
                         .name = "own",
                         .alternative = "IP:127.0.0.1",
                         .issuer = &old_ca});
  const auto why = refusal_of(own, {.ca_file = old_ca.certificate_file()}, "127.0.0.1");
  EXPECT_TRUE(contains(why, "(that of a CA above it, valid until " + old_ca.ends() + ")")) << why;
}

TEST_F(redis_tls, a_server_that_refuses_the_client_s_certificate_is_told_with_its_file) {
  const certificate old({.directory = directory_.path(),
                         .name = "old",
                         .alternative = "DNS:client",
                         .valid_seconds = -3600,
                         .issuer = &ca_});
  const certificate stranger(
      {.directory = directory_.path(), .name = "stranger", .alternative = "DNS:client"});
  redis_tests::server server({.tls = true, .settings = settings(good_, "yes")});
  for (const auto& [own, said] : std::vector<std::pair<const certificate&, std::string>>{
           {old, "it has expired (valid until " + old.ends() + "); renew it"},
           {stranger, "the server does not know the CA that signed it"}}) {
    redis_client client(to(address_of(server), showing(own)));
    const auto why = client.events->wait_down();
    EXPECT_TRUE(contains(why, "TLS: the server '127.0.0.1' refused this client's certificate '" +
                                  own.certificate_file() + "': " + said))
        << why;
    EXPECT_FALSE(contains(why, "is it Redis")) << why;
  }
}

TEST_F(redis_tls, a_server_that_wants_a_client_certificate_gets_it_or_says_so) {
  for (const auto& [version, question] : std::vector<std::pair<std::string, std::string>>{
           {"TLSv1.3", "wants a certificate of this client; give cert= and key="},
           {"TLSv1.2", "does it want a certificate of this client (cert= and key=)?"}}) {
    auto all = settings(good_, "yes");
    all.insert(all.end(), {"--tls-protocols", version});
    redis_tests::server server({.tls = true, .settings = all});
    redis_client without(to(address_of(server), trusting_ca()));
    const auto why = without.events->wait_down();
    EXPECT_TRUE(contains(why, question)) << why;
    EXPECT_FALSE(contains(why, "is it Redis")) << why;
    redis_client with(to(address_of(server), showing(good_)));
    with.events->wait_up();
  }
}

TEST(tls_failure, every_objection_of_a_server_to_the_client_s_certificate_names_its_file) {
  ASSERT_EQ(OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr), 1);
  const auto said = [](int alert, const std::string& file) {
    const unsigned long code = ERR_PACK(ERR_LIB_SSL, 0, SSL_AD_REASON_OFFSET + alert);
    return error_of({.host = "h", .code = code, .certificate_file = file, .validity = "then"})
        .message();
  };
  const std::string refused = "TLS: the server 'h' refused this client's certificate '/c.crt': ";
  for (const auto& [alert, why] : std::vector<std::pair<int, std::string>>{
           {SSL_AD_CERTIFICATE_EXPIRED, "it has expired (then)"},
           {SSL_AD_UNKNOWN_CA, "the server does not know the CA"},
           {SSL_AD_CERTIFICATE_REVOKED, "it is revoked"},
           {SSL_AD_BAD_CERTIFICATE, "sslv3 alert bad certificate; check"},
           {SSL_AD_UNSUPPORTED_CERTIFICATE, "sslv3 alert unsupported certificate; check"},
           {SSL_AD_CERTIFICATE_UNKNOWN, "sslv3 alert certificate unknown; check"}}) {
    EXPECT_EQ(said(alert, "/c.crt").find(refused + why), 0U) << said(alert, "/c.crt");
    EXPECT_EQ(said(alert, "").find("refused this client"), std::string::npos) << said(alert, "");
  }
  EXPECT_EQ(said(SSL_AD_INTERNAL_ERROR, "/c.crt"),
            "TLS: the server 'h' ended the session: tlsv1 alert internal error; see the server's "
            "log");
}

/// What is written between two records of one message TLS refuses.
TEST_F(redis_tls, what_is_sent_in_the_middle_of_a_ticket_is_sent_when_it_is_whole) {
  std::promise<void> noted;
  std::promise<void> sent;
  std::promise<void> answered;
  peer server([&](const peer::client& c, int) {
    tls_line l(c, good_);
    ASSERT_NE(l.read().find("HELLO"), std::string::npos);
    l.write("%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n");
    ASSERT_NE(l.read().find("INFO"), std::string::npos);
    l.write("$11\r\nrole:master\r\n");
    ASSERT_EQ(noted.get_future().wait_for(20s), std::future_status::ready);
    const auto ticket = l.ticket();
    const auto first = 5U + (static_cast<unsigned char>(ticket.at(3)) << 8U) +
                       static_cast<unsigned char>(ticket.at(4));
    ASSERT_LT(first, ticket.size());
    c.write(ticket.substr(0, first));
    ASSERT_EQ(sent.get_future().wait_for(20s), std::future_status::ready);
    c.write(ticket.substr(first));
    EXPECT_NE(l.read().find("PING"), std::string::npos);
    l.write("+PONG\r\n");
    answered.get_future().wait_for(20s);
  });
  redis_client client(to(server.address(), trusting_ca()));
  client.events->wait_up();
  const auto before = client.connection->count().reads;
  noted.set_value();
  for (int i = 0; i < 2000 && client.connection->count().reads == before; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  client.in_one_turn([&] { ASSERT_TRUE(client.send(1, bytes_of("PING"))); });
  // Behind the end of that turn.
  client.in_one_turn([] {});
  client.in_one_turn([] {});
  sent.set_value();
  EXPECT_EQ(client.answers->wait(1).reply.text, "PONG");
  answered.set_value();
}

TEST_F(redis_tls, that_ends_the_stream_is_lost_though_it_leaves_the_connection_open) {
  std::promise<void> lost;
  peer server([&](const peer::client& c, int connection) {
    if (connection > 0) return;
    tls_line l(c, good_);
    ASSERT_NE(l.read().find("HELLO"), std::string::npos);
    l.write("%1\r\n$7\r\nversion\r\n$3\r\n7.0\r\n");
    ASSERT_NE(l.read().find("INFO"), std::string::npos);
    l.write("$11\r\nrole:master\r\n");
    ASSERT_NE(l.read().find("PING"), std::string::npos);
    l.write("+PO");
    l.end();
    lost.get_future().wait_for(60s);
  });
  redis_client client(to(server.address(), trusting_ca()));
  client.events->wait_up();
  ASSERT_TRUE(client.send(1, bytes_of("PING"), 60s));
  EXPECT_TRUE(contains(client.events->wait_down(), "the server closed the connection"));
  EXPECT_EQ(client.answers->wait(1).what, redis_answer::outcome::unknown);
  lost.set_value();
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

TEST_F(redis_tls, a_key_of_another_certificate_is_told_as_that) {
  const auto c =
      tls_context::make({.certificate_file = good_.certificate_file(), .key_file = ca_.key_file()});
  ASSERT_FALSE(c);
  EXPECT_TRUE(c.error().message().ends_with("; it is not the key of the certificate in cert="));
}

TEST_F(redis_tls, a_key_is_closed_when_it_is_read_and_on_exec_before) {
  const std::string key = directory_.path() + "/fifo";
  ASSERT_EQ(::mkfifo(key.c_str(), 0600), 0);
  auto made = std::async(std::launch::async, [&] {
    return tls_context::make({.certificate_file = good_.certificate_file(), .key_file = key});
  });
  // Until the reader is there.
  unique_fd writer(::open(key.c_str(), O_WRONLY | O_CLOEXEC));
  const auto readers = [&] {
    int count = 0;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int fd = std::stoi(one.path().filename());
      std::error_code gone;
      if (fd == writer.get() || std::filesystem::read_symlink(one, gone) != key) continue;
      ++count;
      EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    }
    return count;
  };
  // The writer may be back from its open before the reader has its descriptor.
  EXPECT_TRUE(process::eventually([&] { return readers() == 1; }));
  const std::string text = "no key";
  EXPECT_EQ(::write(writer.get(), text.data(), text.size()), 6);
  writer = {};
  EXPECT_FALSE(made.get());
  EXPECT_EQ(readers(), 0);
}

TEST_F(redis_tls, files_that_cannot_be_used_are_named) {
  const std::string none = directory_.path() + "/none";
  for (const auto& [options, named] : std::vector<std::pair<tls_options, std::string>>{
           {{.ca_file = none}, none},
           {{.certificate_file = none, .key_file = good_.key_file()}, none},
           {{.certificate_file = good_.certificate_file(), .key_file = none},
            none + "': No such file"},
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
