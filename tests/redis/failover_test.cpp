#include "core/store_url.hpp"
#include "engines/redis/commands.hpp"
#include "engines/redis/master.hpp"
#include "engines/redis/settings.hpp"
#include "io/thread/loop.hpp"
#include "tests/process/proxy.hpp"
#include "tests/redis/contested.hpp"

#include <filesystem>
#include <future>
#include <string>
#include <thread>

/// A replica that is promoted, at the address where clients look for the master.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;
using redis_tests::contest;

class failover : public contested {
 protected:
  /// A master that does not wait for more replicas before it sends its data to the first.
  static server::options node() {
    return {.unix_socket = true, .settings = {"--repl-diskless-sync-delay", "0"}};
  }
  static void promote(server& s) { s.command({"REPLICAOF", "NO", "ONE"}); }

  /// Where clients look; a connection that is there stays where it is.
  std::string name() const { return directory_.path() + "/master"; }
  void name_leads_to(const server& s) const {
    std::filesystem::remove(name());
    std::filesystem::create_symlink(s.socket_path(), name());
  }
  /// How clients of this test name the store.
  std::string named(const std::string& query) const {
    return "redis://unix:" + name() + "?max_ttl=" + max_ttl + query;
  }
  void found(const std::string& query) const {
    await(open(named(query + "&assume_fresh=yes")), status::ok);
  }

 private:
  tests::temporary_directory directory_;
};

TEST_F(failover, contenders_go_on_with_the_promoted_replica) {
  server master(node()), replica(node()), next(node());
  attach(replica, master);
  name_leads_to(master);
  found("&replicas=1");
  contest c(three(named("&replicas=1")));
  expect_more(c);
  master.kill();
  promote(replica);
  attach(next, replica);
  name_leads_to(replica);
  expect_more(c);
  expect_clean_end(c);
}

TEST_F(failover, contenders_go_on_where_replicas_are_ignored) {
  server master(node()), replica(node());
  attach(replica, master);
  name_leads_to(master);
  found("&replicas=ignore");
  contest c(three(named("&replicas=ignore")));
  expect_more(c);
  master.kill();
  promote(replica);
  name_leads_to(replica);
  expect_more(c);
  expect_clean_end(c);
}

TEST_F(failover, an_old_master_that_lives_on_keeps_nobodys_lock) {
  server master(node()), replica(node()), next(node());
  attach(replica, master);
  name_leads_to(master);
  found("&replicas=1");
  redis_tests::witness seen;
  const auto urls = three(named("&replicas=1"));
  auto old = holdfast::open(urls[0]);
  ASSERT_TRUE(old) << old.error().message();
  auto held = old->try_acquire(lock_name("a"));
  ASSERT_TRUE(held) << held.error().message();
  const auto first = seen.begins(*held);
  // It is cut off from its replica, and not from the holder.
  promote(replica);
  attach(next, replica);
  name_leads_to(replica);
  ASSERT_TRUE(process::eventually([&] {
    auto fresh = holdfast::open(urls[1]);
    const auto l =
        fresh ? fresh->acquire(lock_name("a"), {.wait = 10s}) : result<lock>(fresh.error());
    return l && seen.begins(*l) != 0;
  }));
  EXPECT_FALSE(seen.still(first, *held)) << "two holders";
  EXPECT_THAT(seen.violations(), testing::IsEmpty());
}

TEST_F(failover, a_script_that_was_made_for_the_server_before_counts_for_nothing) {
  namespace redis = engines::redis;
  server old(node()), copy(node());
  attach(copy, old);
  for (const redis::script* s : redis::scripts::all) {
    copy.command({"SCRIPT", "LOAD", std::string(s->text)});
  }
  process::proxy link(old.port());
  const std::string at = "redis://" + link.address() + "?max_ttl=1s&replicas=ignore";
  await(open(at + "&assume_fresh=yes"), status::ok);
  const auto loop = io::loop::start().value();
  const auto m = std::make_shared<redis::master>(
      redis::read_settings(core::store_url::parse(at).value()).value(), loop);
  m->start();
  ASSERT_EQ(m->look().trouble, "");
  std::promise<std::string> told;
  m->run(
      [&](std::string_view nonce) {
        // The connection is another one when this is sent, and its server not judged yet.
        promote(copy);
        link.lead_to(copy.port());
        link.delay(400ms);
        const auto connects = m->count().connects;
        old.kill();
        for (int ms = 0; ms < 20'000 && m->count().connects == connects; ++ms) {
          std::this_thread::sleep_for(1ms);
        }
        return redis::commands::sweep_more(nonce);
      },
      redis::master::copies::awaited, redis::master::room::half,
      [&](const redis::master::answer& a) {
        told.set_value(a.reply == nullptr ? a.failure.text : "answered: " + a.reply->text);
      });
  // On a machine that is busy for so long it has been judged by then.
  EXPECT_THAT(told.get_future().get(), testing::AnyOf(testing::HasSubstr("connection was replaced"),
                                                      testing::HasSubstr("HFNOTADMITTED")))
      << "the copy may lack what somebody else was granted last";
  m->close(0s);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
