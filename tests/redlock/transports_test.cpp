#include "tests/process/child.hpp"
#include "tests/redis_server/certificate.hpp"
#include "tests/redlock/contest.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

/// \file
/// The same locks by other ways to the nodes: Unix sockets, TLS, certificates on both sides.

namespace holdfast::redlock_tests {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

server::options speaking_tls(const io::certificate& shown, const io::certificate& ca,
                             const char* wants_client = "no") {
  return {.tls = true,
          .settings = {"--tls-cert-file", shown.certificate_file(), "--tls-key-file",
                       shown.key_file(), "--tls-ca-cert-file", ca.certificate_file(),
                       "--tls-auth-clients", wants_client}};
}

/// Nodes behind certificates of one CA, which the clients trust.
struct redlock_transports : testing::Test {
  io::certificate issued(const std::string& name, const std::string& alternative,
                         const io::certificate* by, long valid_seconds = 86'400) const {
    return io::certificate({.directory = files.path(),
                            .name = name,
                            .alternative = alternative,
                            .valid_seconds = valid_seconds,
                            .issuer = by});
  }
  /// The same store by TLS.
  std::string tls(const five_nodes& nodes, const std::string& query = "ttl=5s",
                  std::size_t first = 0) const {
    std::string url = nodes.url(query + "&ca=" + ca.certificate_file(), first);
    return url.replace(0, url.find(':'), "redlock+tls");
  }

  tests::temporary_directory files;
  io::certificate ca{{.directory = files.path(), .name = "ca"}};
  io::certificate good = issued("good", "IP:127.0.0.1,DNS:localhost", &ca);
};

void contend(const std::vector<std::string>& urls, bool tokens = true) {
  redis_tests::contest c(urls, "contended", tokens);
  EXPECT_TRUE(c.more(30)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty()) << c.troubles();
}

/// What who opens the store is told, with a person to act.
std::string refusal_of(const std::string& url) {
  const auto refused = holdfast::open(url);
  EXPECT_FALSE(refused) << url;
  if (refused) return {};
  EXPECT_EQ(refused.error(), errc::unavailable) << refused.error().message();
  return refused.error().message();
}

TEST_F(redlock_transports, tls_carries_a_contended_lock) {
  five_nodes nodes(3, speaking_tls(good, ca));
  nodes.reach(2, "localhost:" + std::to_string(nodes[2].port()));
  ASSERT_TRUE(succeeded(redlock::init(tls(nodes))));
  contend({tls(nodes), tls(nodes, "ttl=5s", 1), tls(nodes, "ttl=5s", 2)});
  const std::string off = "ttl=5s&tokens=off&assume_fresh=yes&verify=ca";
  contend({tls(nodes, off), tls(nodes, off, 1)}, false);
}

/// Fault matrix: the URL asks for TLS, and the nodes' ports speak plain text | it is refused with
/// that reason, and no command is sent in plain text
TEST_F(redlock_transports, what_asks_for_tls_sends_nothing_in_plain_text) {
  five_nodes nodes(3);
  nodes.init();
  nodes.everywhere({"CONFIG", "RESETSTAT"});
  EXPECT_THAT(refusal_of(tls(nodes)), HasSubstr("does not speak TLS on this port"));
  const auto off = tls(nodes, "ttl=5s&tokens=off&assume_fresh=yes");
  EXPECT_THAT(refusal_of(off), HasSubstr("does not speak TLS on this port"));
  EXPECT_FALSE(redlock::init(tls(nodes)));
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].calls("hello"), 0);
}

/// Fault matrix: the URL names plain text, and the nodes' ports speak TLS alone | it is refused
TEST_F(redlock_transports, plain_text_is_refused_by_nodes_that_speak_tls) {
  five_nodes nodes(3, speaking_tls(good, ca));
  ASSERT_TRUE(succeeded(redlock::init(tls(nodes))));
  const std::string why = refusal_of(nodes.url());
  for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_THAT(why, HasSubstr(nodes[i].address()));
  EXPECT_TRUE(succeeded(holdfast::open(tls(nodes)))) << "it was the way that was wrong";
}

/// Fault matrix: the nodes' certificates are expired, self-signed, of another CA or for another
/// name | the store is not opened, and the reason and what to do are told
TEST_F(redlock_transports, a_certificate_that_is_not_accepted_is_refused_with_its_reason) {
  const auto told = [&](const io::certificate& shown) {
    five_nodes nodes(3, speaking_tls(shown, ca));
    const auto refused = redlock::init(tls(nodes));
    EXPECT_FALSE(refused);
    const auto opened = holdfast::open(tls(nodes));
    EXPECT_TRUE(!opened && opened.error().needs_operator());
    return refusal_of(tls(nodes));
  };
  EXPECT_THAT(told(issued("other", "DNS:elsewhere,IP:10.9.8.7", &ca)),
              AllOf(HasSubstr("the certificate of '127.0.0.1' is not accepted"),
                    HasSubstr("IP address mismatch"), HasSubstr("issue one for this name")));
  const auto expired = issued("expired", "IP:127.0.0.1", &ca, -3600);
  EXPECT_THAT(told(expired), AllOf(HasSubstr("has expired"), HasSubstr(expired.ends()),
                                   HasSubstr("renew it, and check this machine's date")));
  EXPECT_THAT(told(issued("own", "IP:127.0.0.1", nullptr)),
              AllOf(AnyOf(HasSubstr("self-signed"), HasSubstr("self signed")),
                    HasSubstr("give the file of the CA that signed it (ca=)")));
  const io::certificate others({.directory = files.path(), .name = "others"});
  EXPECT_THAT(told(issued("foreign", "IP:127.0.0.1", &others)),
              HasSubstr("give the file of the CA that signed it (ca=)"));
}

/// Fault matrix: the certificate of one of three nodes is for another name | the others grant;
/// where that of a second one is, no lock is granted, and both are named
TEST_F(redlock_transports, a_minority_with_a_wrong_certificate_costs_nothing) {
  const auto wrong = issued("wrong", "DNS:elsewhere", &ca);
  const auto right = speaking_tls(good, ca);
  five_nodes nodes({right, speaking_tls(wrong, ca), right});
  ASSERT_TRUE(succeeded(redlock::init(tls(nodes, "ttl=5s&verify=ca"))));
  contend({tls(nodes), tls(nodes, "ttl=5s", 1)});
  const auto seen = redlock::status(tls(nodes));
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->votes, 2U);
  EXPECT_FALSE(seen->trouble) << seen->advice;
  EXPECT_FALSE(seen->nodes[1].votes);
  EXPECT_THAT(seen->nodes[1].standing, HasSubstr("IP address mismatch"));

  five_nodes most({speaking_tls(wrong, ca), right, speaking_tls(wrong, ca)});
  ASSERT_TRUE(succeeded(redlock::init(tls(most, "ttl=5s&verify=ca"))));
  const std::string why = refusal_of(tls(most));
  EXPECT_THAT(why, AllOf(HasSubstr("IP address mismatch"), HasSubstr(most[0].address()),
                         HasSubstr(most[2].address())));
}

/// Fault matrix: one of three TLS nodes has been replaced by a server that speaks plain text | the
/// others grant, and nothing is sent to it
TEST_F(redlock_transports, a_node_that_speaks_plain_text_among_others_is_left_out) {
  const auto right = speaking_tls(good, ca);
  five_nodes nodes({right, right, right});
  ASSERT_TRUE(succeeded(redlock::init(tls(nodes))));
  server plain;
  nodes.kill(2);
  nodes.reach(2, plain.address());
  const std::string query = "ttl=5s&tokens=off&assume_fresh=yes";
  auto s = holdfast::open(tls(nodes, query));
  ASSERT_TRUE(s) << s.error().message();
  auto l = s->try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_THAT(redlock::status(tls(nodes, query))->nodes[2].standing,
              HasSubstr("does not speak TLS on this port"));
  EXPECT_EQ(plain.calls("hello") + plain.calls("set"), 0);
  EXPECT_TRUE(succeeded(std::move(*l).release()));
}

TEST_F(redlock_transports, nodes_that_ask_for_a_certificate_get_it) {
  const auto client = issued("client", "DNS:client", &ca);
  five_nodes nodes(3, speaking_tls(good, ca, "yes"));
  const std::string own = "ttl=5s&cert=" + client.certificate_file() + "&key=" + client.key_file();
  ASSERT_TRUE(succeeded(redlock::init(tls(nodes, own))));
  contend({tls(nodes, own), tls(nodes, own, 1)});
  EXPECT_THAT(refusal_of(tls(nodes)),
              AllOf(HasSubstr("wants a certificate of this client; give cert= and key="),
                    HasSubstr(nodes[0].address()), HasSubstr(nodes[2].address())));
  const io::certificate others({.directory = files.path(), .name = "others"});
  const auto foreign = issued("foreign", "DNS:client", &others);
  EXPECT_THAT(refusal_of(tls(nodes, "ttl=5s&cert=" + foreign.certificate_file() +
                                        "&key=" + foreign.key_file())),
              HasSubstr("refused this client's certificate '" + foreign.certificate_file()));
}

TEST(redlock_sockets, unix_sockets_carry_a_contended_lock) {
  five_nodes nodes(3, {.unix_socket = true});
  for (std::size_t i = 0; i < 3; ++i) nodes.reach(i, "unix:" + nodes[i].socket_path());
  nodes.init();
  contend({nodes.url(), nodes.url("ttl=5s", 1), nodes.url("ttl=5s", 2)});
  EXPECT_TRUE(nodes.comes_to("contended", 0));
  nodes.kill(1);
  session s = nodes.open();
  auto l = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_TRUE(nodes.comes_to("a", 2));
  nodes.restart(1, server::data::keep);
  EXPECT_TRUE(process::eventually([&] { return nodes.look().nodes[1].connected; }))
      << "a socket is made again with its server";
  EXPECT_TRUE(succeeded(std::move(*l).release()));
  nodes.kill(0);
  nodes.kill(2);
  EXPECT_THAT(refusal_of(nodes.url()), HasSubstr(nodes[0].socket_path()));
}

/// One store, whichever way each node is reached by.
TEST(redlock_sockets, a_socket_may_be_a_node_beside_others) {
  five_nodes nodes(3, {.unix_socket = true});
  nodes.reach(0, "unix:" + nodes[0].socket_path());
  nodes.init();
  contend({nodes.url(), nodes.url("ttl=5s", 1)});
  nodes.reach(1, nodes[0].address());
  const auto twice = nodes.look("ttl=5s&tokens=off&assume_fresh=yes");
  EXPECT_EQ(twice.votes, 2U) << "one server has one vote";
  EXPECT_THAT(twice.nodes[0].standing + twice.nodes[1].standing,
              HasSubstr("is the same server as"));
}

}  // namespace
}  // namespace holdfast::redlock_tests
