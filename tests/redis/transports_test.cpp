#include "tests/process/proxy.hpp"
#include "tests/redis/contested.hpp"
#include "tests/redis_server/certificate.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>

/// The same locks by other ways to the server: a Unix socket, TLS, a user with a password.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using redis_tests::contest;

class transports : public contested {
 protected:
  void contend(const std::string& url) {
    contest c(three(url));
    expect_more(c, 100);
    expect_clean_end(c);
  }
  std::string fresh() const { return "?assume_fresh=yes&max_ttl=" + max_ttl; }
  /// A machine may stand still for a while without ending it.
  static std::string lasting() { return "?assume_fresh=yes&max_ttl=3s&ttl=3s"; }
  tests::temporary_directory files_;
};

TEST_F(transports, a_unix_socket_carries_a_contended_lock) {
  server s({.unix_socket = true});
  contend("redis://unix:" + s.socket_path() + fresh());
}

TEST_F(transports, tls_carries_a_contended_lock_and_asks_for_a_certificate) {
  const io::certificate ca({.directory = files_.path(), .name = "ca"});
  const io::certificate own({.directory = files_.path(),
                             .name = "server",
                             .alternative = "DNS:localhost",
                             .issuer = &ca});
  const io::certificate client(
      {.directory = files_.path(), .name = "client", .alternative = "DNS:client", .issuer = &ca});
  server s(
      {.tls = true,
       .settings = {"--tls-cert-file", own.certificate_file(), "--tls-key-file", own.key_file(),
                    "--tls-ca-cert-file", ca.certificate_file(), "--tls-auth-clients", "yes"}});
  const std::string url = "redis+tls://localhost:" + std::to_string(s.port()) + fresh() +
                          "&ca=" + ca.certificate_file();
  contend(url + "&cert=" + client.certificate_file() + "&key=" + client.key_file());
  const auto stranger = holdfast::open(url);
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code(), errc::unavailable);
  EXPECT_NE(stranger.error().message().find("localhost"), std::string::npos);
}

TEST_F(transports, a_user_whose_password_is_in_a_file_contends_for_a_lock) {
  server s({.users = "user default off\nuser worker on >secret ~holdfast:* &* +@all\n"});
  const std::string file = files_.path() + "/password";
  std::ofstream(file) << "secret\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  contend("redis://worker@" + s.address() + fresh() + "&password_file=" + file);
  const auto nobody = holdfast::open("redis://" + s.address() + fresh());
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code(), errc::unavailable) << nobody.error().message();
}

TEST_F(transports, a_password_may_be_replaced_while_a_lock_is_held) {
  server s({.users = "user default off\nuser worker on >old ~holdfast:* &* +@all\n"
                     "user root on >root ~* &* +@all\n"});
  const std::string file = files_.path() + "/password";
  std::ofstream(file) << "old";
  auto holder =
      holdfast::open("redis://worker@" + s.address() + lasting() + "&password_file=" + file);
  ASSERT_TRUE(holder) << holder.error().message();
  auto held = holder->try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  std::ofstream(file) << "new";
  auto root = s.connect("root", "root");
  root.command({"ACL", "SETUSER", "worker", "resetpass", ">new"});
  root.command({"CLIENT", "KILL", "USER", "worker"});
  std::this_thread::sleep_for(5s);
  EXPECT_TRUE(held->check()) << held->check().error().message();
  EXPECT_TRUE(std::move(*held).release());
}

TEST_F(transports, a_certificate_of_the_client_may_be_renewed_while_a_lock_is_held) {
  const io::certificate ca({.directory = files_.path(), .name = "ca"});
  const io::certificate own(
      {.directory = files_.path(), .name = "server", .alternative = "IP:127.0.0.1", .issuer = &ca});
  io::certificate::options mine{.directory = files_.path(),
                                .name = "client",
                                .alternative = "DNS:client",
                                .valid_seconds = 10,
                                .issuer = &ca};
  const io::certificate first(mine);
  server s(
      {.tls = true,
       .settings = {"--tls-cert-file", own.certificate_file(), "--tls-key-file", own.key_file(),
                    "--tls-ca-cert-file", ca.certificate_file(), "--tls-auth-clients", "yes"}});
  process::proxy way(s.port());
  auto holder =
      holdfast::open("redis+tls://" + way.address() + lasting() + "&ca=" + ca.certificate_file() +
                     "&cert=" + first.certificate_file() + "&key=" + first.key_file());
  ASSERT_TRUE(holder) << holder.error().message();
  auto held = holder->try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  std::this_thread::sleep_for(10'500ms);
  EXPECT_TRUE(held->check()) << "a connection outlives the certificate it was made with";
  mine.valid_seconds = 86'400;
  const io::certificate renewed(mine);
  way.cut_after(0);
  EXPECT_TRUE(process::eventually([&] { return !way.will_cut(); }));
  std::this_thread::sleep_for(5s);
  EXPECT_TRUE(held->check()) << held->check().error().message();
  EXPECT_TRUE(std::move(*held).release());
}

// By a firewall that forgets it, say.
TEST_F(transports, a_connection_may_be_lost_without_a_word_while_a_lock_is_held) {
  server s;
  process::proxy way(s.port());
  auto holder =
      holdfast::open("redis://" + way.address() + "?assume_fresh=yes&ttl=7s&node_timeout=500ms");
  ASSERT_TRUE(holder) << holder.error().message();
  auto held = holder->try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  way.lose_all();
  std::this_thread::sleep_for(9s);
  EXPECT_TRUE(held->check()) << held->check().error().message();
  EXPECT_TRUE(std::move(*held).release());
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
