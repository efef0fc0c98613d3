#include "engines/etcd/diagnose.hpp"
#include "tests/etcd/engine_fixture.hpp"
#include "tests/process/proxy.hpp"
#include "tests/redis_server/certificate.hpp"
#include "tests/redis_server/server.hpp"

#include <holdfast/lock.hpp>
#include <holdfast/session.hpp>
#include <holdfast/store.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

/// Who may in, and what is no etcd.

namespace holdfast::etcd_tests {
namespace {

/// The text of a session that cannot be opened.
std::string trouble_of(const std::string& url) {
  const auto begun = clock::now();
  auto opened = open(url);
  EXPECT_FALSE(opened) << url;
  EXPECT_LT(clock::now() - begun, 15s) << url;
  return opened ? std::string() : opened.error().message();
}

void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

/// Told at once, and as what only a person can put right. `where`: all before the prefix.
void expect_shut_out(const std::string& where, const std::string& part) {
  const auto begun = clock::now();
  const auto opened = open(where + "/t?node_timeout=30s");
  ASSERT_FALSE(opened) << where;
  EXPECT_LT(clock::now() - begun, 15s);
  EXPECT_EQ(opened.error(), errc::unavailable);
  EXPECT_TRUE(opened.error().needs_operator()) << opened.error().message();
  expect_text(opened.error().message(), part);
}

TEST(etcd_access, a_client_certificate_opens_a_server_that_wants_one) {
  servers s(1, {.flags = {}, .tls = true});
  const auto& d = s.directory();
  const std::string plain = "etcd://" + s.addresses() + "/t?node_timeout=1s";
  const std::string bare = "etcd+tls://" + s.addresses() + "/t?node_timeout=1s&ca=" + d + "/ca.crt";
  {
    auto session = open(bare + "&cert=" + d + "/client.crt&key=" + d + "/client.key");
    ASSERT_TRUE(session) << session.error().message();
    EXPECT_TRUE(session->acquire(lock_name("a")));
  }
  expect_text(trouble_of(plain), "does it want TLS (+tls)?");
  expect_text(trouble_of(bare), s.addresses());
  expect_text(trouble_of(bare), "wants a certificate of this client; give cert= and key=");
  expect_shut_out("etcd+tls://" + s.addresses(), "ca=");
}

TEST(etcd_access, a_certificate_names_the_user_where_the_url_names_none) {
  servers s(1, {.flags = {}, .tls = true});
  s.control({"user", "add", "root:secret"});
  s.control({"user", "grant-role", "root", "root"});
  ASSERT_FALSE(s.control({"auth", "enable"}).empty());
  const auto& d = s.directory();
  const auto text = trouble_of("etcd+tls://" + s.addresses() + "/t?node_timeout=1s&ca=" + d +
                               "/ca.crt&cert=" + d + "/client.crt&key=" + d + "/client.key");
  expect_text(text, "the URL names no user, so etcd takes the name (CN) of the certificate");
}

// Also by whoever has the store open already: each connection is made with the files of its time.
TEST(etcd_access, a_ca_that_was_put_right_is_trusted_while_the_store_is_open) {
  servers s(1, {.flags = {}, .tls = true});
  const auto& d = s.directory();
  const io::certificate stranger({.directory = d, .name = "trusted"});
  const std::string url = "etcd+tls://" + s.addresses() +
                          "/t?node_timeout=1s&ca=" + stranger.certificate_file() + "&cert=" + d +
                          "/client.crt&key=" + d + "/client.key";
  auto kept = store::open(url);
  ASSERT_TRUE(kept) << kept.error().message();
  expect_text(trouble_of(url), "not accepted");
  std::filesystem::copy_file(d + "/ca.crt", stranger.certificate_file(),
                             std::filesystem::copy_options::overwrite_existing);
  auto session = kept->open_session();
  for (int i = 0; i < 5 && !session; ++i) session = kept->open_session();
  EXPECT_TRUE(session) << session.error().message();
}

TEST(etcd_access, a_server_without_tls_is_not_spoken_to_in_plain_text) {
  servers s;
  expect_text(trouble_of("etcd+tls://" + s.addresses() + "/t?node_timeout=1s"),
              "does it speak TLS on this port");
}

TEST(etcd_access, users_and_roles_are_respected_and_named) {
  servers s;
  s.control({"user", "add", "root:secret"});
  s.control({"user", "add", "locks:word"});
  s.control({"user", "add", "reader:word"});
  for (const char* role : {"root", "locks", "reader"}) s.control({"role", "add", role});
  s.control({"role", "grant-permission", "locks", "readwrite", "t/", "t0"});
  s.control({"role", "grant-permission", "reader", "read", "t/", "t0"});
  for (const char* user : {"root", "locks", "reader"}) {
    s.control({"user", "grant-role", user, user});
  }
  expect_shut_out("etcd://locks:word@" + s.addresses(), "authentication is not enabled");
  ASSERT_FALSE(s.control({"auth", "enable"}).empty());

  // A login is a lot of work for the server, on purpose.
  const std::string at = "@" + s.addresses() + "/t?node_timeout=5s";
  {
    auto session = open("etcd://locks:word" + at);
    ASSERT_TRUE(session) << session.error().message();
    auto held = session->acquire(lock_name("a"));
    ASSERT_TRUE(held) << held.error().message();
    EXPECT_TRUE(std::move(*held).release());
  }
  const auto file = s.directory() + "/password";
  std::ofstream(file) << "word\n";
  EXPECT_TRUE(open("etcd://locks" + at + "&password_file=" + file));
  expect_shut_out("etcd://locks:wrong@" + s.addresses(), "logging in as 'locks' failed");
  expect_shut_out("etcd://reader:word@" + s.addresses(), "needs a role");
  expect_shut_out("etcd://" + s.addresses(), "name a user");
  for (const auto& url : {"etcd://locks:wrong" + at, "etcd://reader:word" + at}) {
    EXPECT_EQ(trouble_of(url).find("wrong"), std::string::npos) << "no secret in a message";
  }
}

// Also by whoever has the store open already: each login reads it again.
TEST(etcd_access, a_password_that_was_put_right_is_used_while_the_store_is_open) {
  servers s;
  s.control({"user", "add", "root:right"});
  s.control({"user", "grant-role", "root", "root"});
  ASSERT_FALSE(s.control({"auth", "enable"}).empty());
  const auto file = s.directory() + "/password";
  const auto url = "etcd://root@" + s.addresses() + "/t?node_timeout=1s&password_file=" + file;
  std::ofstream(file) << "wrong\n";
  auto kept = store::open(url);
  ASSERT_TRUE(kept) << kept.error().message();
  expect_text(trouble_of(url), "logging in as 'root' failed");
  std::ofstream(file) << "right\n";
  auto session = open(url);
  for (int i = 0; i < 5 && !session; ++i) session = open(url);
  EXPECT_TRUE(session) << session.error().message();
  auto by_kept = kept->open_session();
  for (int i = 0; i < 5 && !by_kept; ++i) by_kept = kept->open_session();
  EXPECT_TRUE(by_kept) << by_kept.error().message();
}

// Which takes each of them a tenth of a second.
TEST(etcd_access, doctor_waits_until_it_is_logged_in_at_all_servers) {
  servers s(3);
  s.control({"user", "add", "root:right"});
  s.control({"user", "grant-role", "root", "root"});
  ASSERT_FALSE(s.control({"auth", "enable"}).empty());
  client c("etcd://root:right@" + s.addresses() + "/t?node_timeout=5s");
  const auto found = engines::etcd::diagnose(c.servers);
  ASSERT_TRUE(found);
  for (const auto& f : *found) {
    EXPECT_FALSE(f.subject == "server" && f.severity != severity::good) << f.text;
  }
}

TEST(etcd_access, a_login_that_fails_is_tried_once_a_second_though_connections_are_lost) {
  servers s;
  s.control({"user", "add", "root:right"});
  s.control({"user", "grant-role", "root", "root"});
  ASSERT_FALSE(s.control({"auth", "enable"}).empty());
  process::proxy way(s.at(0).port());
  client c("etcd://root:wrong@" + way.address() + "/t?node_timeout=1s");
  const auto connects = [&] {
    return c.on_loop([&] { return c.servers->members().front()->count().connects; });
  };
  for (std::uint64_t i = 1; i <= 6; ++i) {
    ASSERT_TRUE(process::eventually([&] { return connects() >= i; }));
    std::this_thread::sleep_for(300ms);
    // The answer to a login.
    way.cut_after(0);
    ASSERT_TRUE(process::eventually([&] { return !way.will_cut(); }));
  }
  std::this_thread::sleep_for(1s);
  const auto before = c.calls();
  std::this_thread::sleep_for(4s);
  EXPECT_LE(c.calls() - before, 5U);
}

// The stream of watches was opened with a token that has expired since.
TEST(etcd_access, a_release_wakes_a_waiter_whose_token_had_expired) {
  servers s(1, {.flags = {"--auth-token-ttl=1"}});
  s.control({"user", "add", "root:right"});
  s.control({"user", "grant-role", "root", "root"});
  ASSERT_FALSE(s.control({"auth", "enable"}).empty());
  const auto url = "etcd://root:right@" + s.addresses() + "/t?node_timeout=2s";
  client holding(url);
  client waiting(url);
  auto holder = holding.join();
  auto waiter = waiting.join();
  for (const std::string name : {"a", "b"}) {
    const auto held = holder.enqueue(name);
    ASSERT_EQ(held.what, status::ok) << held.text;
    const auto v = waiter.enqueue(name);
    ASSERT_EQ(v.what, status::queued) << v.text;
    std::atomic<int> told{0};
    const auto watch =
        waiting.engine->watch({lock_name(name), v.mine, v.targets}, [&told] { ++told; });
    std::this_thread::sleep_for(name == "a" ? 100ms : 1500ms);
    EXPECT_EQ(holder.leave(name, held.mine).what, status::ok);
    EXPECT_TRUE(process::eventually([&] { return told > 0; })) << name;
    std::this_thread::sleep_for(3500ms);
  }
}

TEST(etcd_access, a_server_that_is_no_etcd_is_told_as_such) {
  redis_tests::server redis;
  expect_shut_out("etcd://" + redis.address(), "etcd's port for clients");
}

TEST(etcd_access, nobody_there_is_refused_with_the_address) {
  expect_text(trouble_of("etcd://127.0.0.1:1/t?node_timeout=500ms"), "127.0.0.1:1");
}

TEST(etcd_access, urls_that_cannot_be_meant_are_refused_before_anything_is_opened) {
  for (const char* bad :
       {"etcd://", "etcd://a,a", "etcd://a?nonsense=1", "etcd://a?node_timeout=1ms",
        "etcd://a?ca=/x", "etcd://user@a", "etcd://a?ttl=3s", "etcd://a?password_file=relative",
        "etcd+tls://a?verify=maybe", "etcd+tls://a?ca=/nonexistent", "etcd+tls://unix:/run/e"}) {
    const auto opened = open(bad);
    ASSERT_FALSE(opened) << bad;
    EXPECT_EQ(opened.error(), errc::invalid_argument) << bad << ": " << opened.error().message();
  }
}

TEST(etcd_access, a_ttl_that_leaves_no_time_for_a_second_beat_is_refused_with_the_reason) {
  for (const auto& refused : {open("etcd://a?ttl=999ms&node_timeout=500ms"),
                              open("etcd://a?node_timeout=500ms", {.ttl = 999ms})}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::invalid_argument);
    expect_text(refused.error().message(), "1s");
    expect_text(refused.error().message(), "500ms (node_timeout)");
  }
}

}  // namespace
}  // namespace holdfast::etcd_tests
