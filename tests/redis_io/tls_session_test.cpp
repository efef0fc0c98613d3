#include "tests/redis_io/tls_fixture.hpp"

#include <fcntl.h>
#include <openssl/conf.h>
#include <openssl/ssl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>
#include <utility>

/// One TLS session, whose bytes the test passes on: whom it trusts, what it says of itself, and
/// what a peer may do to it.

namespace holdfast::io {
namespace {

/// OpenSSL's own server over bytes.
class server_end {
 public:
  struct options {
    const certificate* own{};
    int version{TLS1_3_VERSION};
    bool wants_client{};
  };

  explicit server_end(const options& o) : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_set_min_proto_version(context_, o.version);
    SSL_CTX_set_max_proto_version(context_, o.version);
    EXPECT_EQ(
        SSL_CTX_use_certificate_file(context_, o.own->certificate_file().c_str(), SSL_FILETYPE_PEM),
        1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_, o.own->key_file().c_str(), SSL_FILETYPE_PEM),
              1);
    if (o.wants_client) {
      SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    }
    SSL_CTX_set_alpn_select_cb(context_, take_first_protocol, nullptr);
    ssl_ = SSL_new(context_);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(ssl_);
  }
  server_end(const server_end&) = delete;
  server_end& operator=(const server_end&) = delete;
  ~server_end() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

  SSL* ssl() const noexcept { return ssl_; }
  void received(const std::string& bytes) {
    BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
  }
  std::string take() {
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(SSL_get_wbio(ssl_), &bytes);
    std::string all(bytes, static_cast<std::size_t>(size));
    BIO_reset(SSL_get_wbio(ssl_));
    return all;
  }
  std::string read() {
    char bytes[4096];
    const int count = SSL_read(ssl_, bytes, sizeof bytes);
    return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
  }
  /// The records of it.
  std::string said(const std::string& text) {
    EXPECT_EQ(SSL_write(ssl_, text.data(), static_cast<int>(text.size())),
              static_cast<int>(text.size()));
    return take();
  }
  std::string name_asked_for() const {
    const char* name = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "none" : name;
  }

 private:
  static int take_first_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                                 const unsigned char* offered, unsigned, void*) {
    *chosen = offered + 1;
    *size = offered[0];
    return SSL_TLSEXT_ERR_OK;
  }

  SSL_CTX* context_;
  SSL* ssl_;
};

std::string output_of(tls_session& client) {
  std::string bytes;
  client.take_output(bytes);
  return bytes;
}

/// All that came; `ended` when there is no more, or why it failed.
std::string read_all(tls_session& client) {
  std::string all;
  char room[7];
  for (;;) {
    const auto count = client.read(room);
    if (!count) return all + " failed: " + count.error().message();
    if (*count == 0) return client.ended() ? all + " ended" : all;
    all.append(room, *count);
  }
}

class tls_session_test : public tls_fixture {
 protected:
  using verification = tls_options::verification;

  static std::shared_ptr<const tls_context> context(const tls_options& options) {
    auto made = tls_context::make(options);
    EXPECT_TRUE(made) << made.error().message();
    return *made;
  }
  certificate for_names(const std::string& alternative) const {
    return certificate({.directory = directory_.path(),
                        .name = "some",
                        .alternative = alternative,
                        .issuer = &ca_});
  }
  /// Both shake hands: empty, or why the client does not.
  static std::string shake_hands(tls_session& client, server_end& server) {
    for (int i = 0; i < 10; ++i) {
      const auto went = client.shake_hands();
      if (!went) return went.error().message();
      server.received(output_of(client));
      if (SSL_do_handshake(server.ssl()) == 1 && client.established()) break;
      client.received(server.take());
    }
    client.received(server.take());
    return client.established() ? "" : "not established";
  }
  std::shared_ptr<const tls_context> trusting(verification how) const {
    auto options = trusting_ca();
    options.verify = how;
    return context(options);
  }
  /// Why a server with this certificate is not taken for `host`.
  static std::string refusal(const certificate& c, const std::string& host,
                             std::shared_ptr<const tls_context> by) {
    server_end server({.own = &c});
    tls_session client(std::move(by), host);
    return shake_hands(client, server);
  }
};

TEST_F(tls_session_test, takes_a_certificate_for_the_names_and_addresses_that_are_in_it_alone) {
  const auto by_name = trusting(verification::name_and_ca);
  const auto by_ca = trusting(verification::ca);
  struct row {
    const char* in_it;
    const char* host;
    bool is_for_it;
  };
  for (const auto& [in_it, host, is_for_it] :
       std::vector<row>{{"DNS:db.example.org", "db.example.org", true},
                        {"DNS:db.example.org", "DB.Example.Org", true},
                        {"DNS:db.example.org", "example.org", false},
                        {"DNS:db.example.org", "db.example.org.evil.net", false},
                        {"DNS:one.example.org,DNS:db.example.org", "db.example.org", true},
                        {"DNS:*.example.org", "db.example.org", true},
                        {"DNS:*.example.org", "example.org", false},
                        {"DNS:*.example.org", "a.db.example.org", false},
                        {"DNS:d*.example.org", "db.example.org", false},  // RFC 9525 section 6.3
                        {"DNS:*b.example.org", "db.example.org", false},
                        {"IP:10.9.8.7", "10.9.8.7", true},
                        {"IP:10.9.8.7", "10.9.8.6", false},
                        {"DNS:10.9.8.7", "10.9.8.7", false},  // A name is no address.
                        {"IP:10.9.8.7", "db.example.org", false},
                        {"IP:2001:db8::1", "2001:db8::1", true},
                        {"IP:2001:db8::1", "2001:db8:0:0:0:0:0:1", true},
                        {"IP:2001:db8::1", "2001:db8::2", false}}) {
    const auto c = for_names(in_it);
    const auto why = refusal(c, host, by_name);
    EXPECT_EQ(why.empty(), is_for_it) << in_it << " for " << host << ": " << why;
    EXPECT_EQ(refusal(c, host, by_ca), "") << in_it << " for " << host;
  }
}

TEST_F(tls_session_test, trusts_nobody_whom_its_ca_has_not_signed_unless_told_to) {
  const certificate other_ca({.directory = directory_.path(), .name = "other_ca"});
  const certificate stranger({.directory = directory_.path(),
                              .name = "stranger",
                              .alternative = "DNS:db.example.org,IP:10.9.8.7",
                              .issuer = &other_ca});
  for (const char* host : {"db.example.org", "10.9.8.7"}) {
    for (const auto how : {verification::name_and_ca, verification::ca}) {
      EXPECT_TRUE(contains(refusal(stranger, host, trusting(how)), "not accepted"));
    }
    EXPECT_EQ(refusal(stranger, host, trusting(verification::none)), "");
  }
}

TEST_F(tls_session_test, asks_for_a_name_and_not_for_an_address) {
  const auto c = for_names("DNS:localhost,IP:127.0.0.1,IP:::1");
  for (const auto how : {verification::name_and_ca, verification::ca, verification::none}) {
    const auto by = trusting(how);
    for (const auto& [host, asked] : std::vector<std::pair<const char*, const char*>>{
             {"localhost", "localhost"}, {"127.0.0.1", "none"}, {"::1", "none"}}) {
      server_end server({.own = &c});
      tls_session client(by, host);
      EXPECT_EQ(shake_hands(client, server), "");
      EXPECT_EQ(server.name_asked_for(), asked);
    }
  }
}

TEST_F(tls_session_test, asks_for_a_protocol_only_when_it_is_told_one) {
  for (const auto& [asked, chosen] :
       std::vector<std::pair<std::string, std::string>>{{"h2", "h2"}, {"", ""}}) {
    server_end server({.own = &good_});
    auto options = trusting_ca();
    options.protocol = asked;
    tls_session client(context(options), "localhost");
    EXPECT_EQ(shake_hands(client, server), "");
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(server.ssl(), &name, &size);
    EXPECT_EQ(std::string(name, name + size), chosen);
  }
}

TEST_F(tls_session_test, shows_its_certificate_to_a_server_that_asks_for_one) {
  const auto mine = for_names("DNS:client");
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    server_end server({.own = &good_, .version = version, .wants_client = true});
    tls_session client(context(showing(mine)), "localhost");
    EXPECT_EQ(shake_hands(client, server), "");
    server.received(output_of(client));
    EXPECT_EQ(server.read(), "");
    X509* shown = SSL_get1_peer_certificate(server.ssl());
    EXPECT_NE(shown, nullptr);
    X509_free(shown);
  }
}

TEST_F(tls_session_test, reads_the_same_however_its_bytes_are_cut) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    server_end server({.own = &good_, .version = version});
    tls_session client(context(trusting_ca()), "localhost");
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(client.shake_hands());
      server.received(output_of(client));
      if (SSL_do_handshake(server.ssl()) == 1 && client.established()) break;
      for (const char byte : server.take()) {
        client.received({&byte, 1});
        ASSERT_TRUE(client.shake_hands());
      }
    }
    ASSERT_TRUE(client.established());
    std::string came;
    std::string bytes = server.take();
    for (const char* part : {"hello", ", you"}) bytes += server.said(part);
    for (const char byte : bytes) {
      client.received({&byte, 1});
      came += read_all(client);
    }
    EXPECT_EQ(came, "hello, you");
  }
}

TEST_F(tls_session_test, tells_a_proper_end_from_what_only_stops) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    server_end server({.own = &good_, .version = version});
    tls_session client(context(trusting_ca()), "localhost");
    ASSERT_EQ(shake_hands(client, server), "");
    const auto last = server.said("last");
    SSL_shutdown(server.ssl());
    const auto end = server.take();
    client.received(last);
    EXPECT_EQ(read_all(client), "last");
    client.received(end.substr(0, end.size() - 1));
    EXPECT_EQ(read_all(client), "") << "the end is not whole";
    client.received(end.substr(end.size() - 1));
    EXPECT_EQ(read_all(client), " ended");
  }
}

TEST_F(tls_session_test, gives_what_came_before_an_end_in_the_same_bytes) {
  server_end server({.own = &good_});
  tls_session client(context(trusting_ca()), "localhost");
  ASSERT_EQ(shake_hands(client, server), "");
  const auto last = server.said("a long last answer");
  SSL_shutdown(server.ssl());
  client.received(last + server.take());
  EXPECT_EQ(read_all(client), "a long last answer ended");
}

TEST_F(tls_session_test, fails_for_good_when_a_record_is_not_the_peer_s) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    server_end server({.own = &good_, .version = version});
    tls_session client(context(trusting_ca()), "localhost");
    ASSERT_EQ(shake_hands(client, server), "");
    auto forged = server.said("hello");
    const auto next = server.said("again");
    forged.back() = static_cast<char>(forged.back() ^ 1);
    client.received(forged + next);
    const auto came = read_all(client);
    EXPECT_EQ(came.find(" failed: TLS: "), 0U) << came;
    EXPECT_EQ(read_all(client).find(" failed: "), 0U) << "not even what follows";
    EXPECT_FALSE(client.write("secret"));
    EXPECT_FALSE(contains(output_of(client), "secret"));
  }
}

TEST_F(tls_session_test, never_sends_or_takes_plain_text) {
  server_end server({.own = &good_});
  tls_session client(context(trusting_ca()), "localhost");
  EXPECT_FALSE(client.established());
  ASSERT_EQ(shake_hands(client, server), "");
  ASSERT_TRUE(client.write("secret"));
  const auto sent = output_of(client);
  EXPECT_FALSE(contains(sent, "secret"));
  server.received(sent);
  EXPECT_EQ(server.read(), "secret");
  client.received("+OK\r\n$4\r\nmore\r\n");
  EXPECT_EQ(read_all(client).find(" failed: "), 0U);
}

/// A handshake in mid-stream would keep what is written from being sent until it is over.
TEST_F(tls_session_test, begins_no_new_handshake_because_the_server_asks_for_one) {
  constexpr char alert = 21;
  server_end server({.own = &good_, .version = TLS1_2_VERSION});
  tls_session client(context(trusting_ca()), "localhost");
  ASSERT_EQ(shake_hands(client, server), "");
  ASSERT_EQ(SSL_renegotiate(server.ssl()), 1);
  ASSERT_EQ(SSL_do_handshake(server.ssl()), 1);
  client.received(server.take());
  EXPECT_EQ(read_all(client), "");
  EXPECT_TRUE(client.established());
  EXPECT_EQ(output_of(client).substr(0, 1), std::string(1, alert)) << "it declines";
}

/// The host's own file of settings for OpenSSL may allow what was given up long ago.
TEST_F(tls_session_test, speaks_nothing_older_than_1_2_also_where_the_host_allows_it) {
  const std::string settings = directory_.path() + "/openssl.cnf";
  std::ofstream(settings) << "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\n"
                             "system_default = any\n[any]\nMinProtocol = TLSv1\n"
                             "CipherString = ALL:@SECLEVEL=0\n";
  constexpr int not_loaded = 1;
  constexpr int spoken = 2;
  // In a child: the settings are the whole process's.
  const pid_t child = ::fork();
  if (child == 0) {
    if (CONF_modules_load_file(settings.c_str(), nullptr, 0) <= 0) ::_exit(not_loaded);
    server_end old({.own = &good_, .version = TLS1_1_VERSION});
    tls_session client(context(trusting_ca()), "localhost");
    ::_exit(shake_hands(client, old).empty() ? spoken : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TEST_F(tls_session_test, goes_on_with_new_keys_when_the_server_asks_for_them) {
  server_end server({.own = &good_});
  tls_session client(context(trusting_ca()), "localhost");
  ASSERT_EQ(shake_hands(client, server), "");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(SSL_key_update(server.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    client.received(server.said("asked"));
    EXPECT_EQ(read_all(client), "asked");
    ASSERT_TRUE(client.write("answered"));
    server.received(output_of(client));
    EXPECT_EQ(server.read(), "answered");
  }
}

/// What `body` says in a child that has no terminal and reads `typed`.
int without_terminal(const std::string& typed, const std::function<int()>& body) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(::write(ends[1], typed.data(), typed.size()), static_cast<ssize_t>(typed.size()));
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::dup2(ends[0], STDIN_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    ::close(ends[1]);
    ::_exit(body());
  }
  ::close(ends[0]);
  ::close(ends[1]);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class tls_passphrase : public tls_session_test {
 protected:
  tls_passphrase() { encrypt_key(); }

  void encrypt_key() const {
    std::FILE* from = std::fopen(good_.key_file().c_str(), "r");
    EVP_PKEY* key = PEM_read_PrivateKey(from, nullptr, nullptr, nullptr);
    std::fclose(from);
    std::FILE* to = std::fopen(encrypted_.c_str(), "w");
    std::string phrase = "open sesame";
    EXPECT_EQ(PEM_write_PrivateKey(to, key, EVP_aes_128_cbc(),
                                   reinterpret_cast<unsigned char*>(phrase.data()),
                                   static_cast<int>(phrase.size()), nullptr, nullptr),
              1);
    std::fclose(to);
    EVP_PKEY_free(key);
  }
  tls_options with_key() const {
    return {.ca_file = ca_.certificate_file(),
            .certificate_file = good_.certificate_file(),
            .key_file = encrypted_};
  }

  const std::string encrypted_{directory_.path() + "/encrypted.key"};
};

TEST_F(tls_passphrase, is_asked_for_when_somebody_may_be_there) {
  EXPECT_EQ(without_terminal("open sesame\n",
                             [&] { return tls_context::make(with_key()).has_value() ? 0 : 1; }),
            0);
  auto alone = with_key();
  alone.may_ask = false;
  EXPECT_EQ(without_terminal("open sesame\n",
                             [&] { return tls_context::make(alone).has_value() ? 1 : 0; }),
            0)
      << "nobody is asked";
}

TEST_F(tls_passphrase, is_not_asked_for_again_when_the_files_are_read_again) {
  EXPECT_EQ(without_terminal("open sesame\nopen sesame\nopen sesame\n",
                             [&] {
                               const auto source = tls_source::make(with_key());
                               if (!source) return 1;
                               const auto first = (*source)->current();
                               encrypt_key();
                               return (*source)->current() == first ? 0 : 2;
                             }),
            0);
}

}  // namespace
}  // namespace holdfast::io
