#include "engines/zookeeper/diagnose.hpp"
#include "tests/redis_server/server.hpp"
#include "tests/zookeeper/engine_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>

/// Servers and nodes that cannot be used: each is named, with what to do.

namespace holdfast::zookeeper_tests {
namespace {

using engines::zookeeper::create;
using engines::zookeeper::put;

class zookeeper_bad_input : public testing::Test {
 protected:
  static servers& one() {
    static servers running;
    return running;
  }
  static std::string root() {
    static int roots = 0;
    return "t" + std::to_string(++roots);
  }
  static std::string url(const std::string& root) { return one().url(root) + "?node_timeout=20s"; }
  /// As an operator who takes rights away, or gives them back.
  static bool give_everybody(const std::string& rights, const std::string& node) {
    auto child = process::child::execute(
        {"java", "-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar",
         "org.apache.zookeeper.ZooKeeperMain", "-server", one().addresses(), "setAcl", node,
         "world:anyone:" + rights});
    return child.wait() == 0;
  }
  static void expect(const core::reply& r, const std::string& part) {
    EXPECT_NE(r.text.find(part), std::string::npos) << r.text;
  }
};

TEST_F(zookeeper_bad_input, a_server_that_is_not_there_is_named) {
  client c("zookeeper://127.0.0.1:1/t?node_timeout=500ms");
  const auto r = c.await(status::unavailable);
  expect(r, "127.0.0.1:1");
  expect(r, "refuses the connection");
}

TEST_F(zookeeper_bad_input, a_name_without_an_address_is_named) {
  client c("zookeeper://nobody.invalid/t?node_timeout=500ms");
  expect(c.await(status::unavailable), "nobody.invalid");
}

TEST_F(zookeeper_bad_input, a_redis_behind_the_url_is_refused) {
  redis_tests::server redis;
  client c("zookeeper://" + redis.address() + "/t?node_timeout=500ms");
  expect(c.await(status::unavailable), "ZooKeeper");
}

TEST_F(zookeeper_bad_input, a_user_that_is_missing_or_wrong_is_refused) {
  const auto r = root();
  tests::temporary_directory directory;
  std::ofstream(directory.path() + "/password") << "secret\n";
  const auto with = [&](const std::string& user) {
    return "zookeeper://" + user + one().addresses() + "/" + r + "?node_timeout=20s";
  };
  client owner(with("me@") + "&password_file=" + directory.path() + "/password");
  ASSERT_EQ(owner.open().what, status::ok);
  const auto nobody = client(with("")).await(status::unavailable);
  expect(nobody, "password_file=");
  EXPECT_TRUE(nobody.needs_operator);
  const auto wrong = client(with("me:other@")).await(status::unavailable);
  expect(wrong, "user 'me'");
  EXPECT_TRUE(wrong.needs_operator);
  EXPECT_EQ(owner.open().what, status::ok);
}

// Also by whoever is connected already: a connection keeps the login that it began with.
TEST_F(zookeeper_bad_input, a_password_that_was_put_right_is_used_while_the_store_is_open) {
  const tests::temporary_directory directory;
  const auto file = directory.path() + "/password";
  const auto at = one().addresses() + "/" + root() + "?node_timeout=20s";
  client owner("zookeeper://me:right@" + at);
  owner.await(status::ok);
  std::ofstream(file) << "wrong\n";
  client kept("zookeeper://me@" + at + "&password_file=" + file);
  expect(kept.await(status::unavailable), "user 'me'");
  EXPECT_EQ(kept.open().what, status::unavailable);
  std::ofstream(file) << "right\n";
  kept.await(status::ok);
}

// As an operator who keeps the nodes above to himself.
TEST_F(zookeeper_bad_input, a_user_who_was_given_one_node_needs_no_rights_above_it) {
  const auto above = "/" + root();
  const auto address = one().addresses();
  client anybody(url(root()));
  ASSERT_EQ(anybody.await(status::ok).what, status::ok);
  ASSERT_TRUE(anybody.send({create(above)}).replies.at(0).ok());
  const auto mine = "zookeeper://me:secret@" + address + above + "/mine?node_timeout=20s";
  client giver(mine);
  for (const auto* part : {"/mine/s", "/mine/q"}) {
    ASSERT_TRUE(giver.send({engines::zookeeper::remove(above + part)}).replies.at(0).ok());
  }
  ASSERT_TRUE(give_everybody("r", above));
  const auto first = client(mine).open();
  EXPECT_EQ(first.what, status::ok) << first.text;
}

TEST_F(zookeeper_bad_input, a_beat_that_is_refused_is_told_as_the_trouble) {
  const auto r = root();
  client c(url(r));
  auto m = c.join();
  const auto record = c.servers->where().session(m.id());
  EXPECT_EQ(c.engine->trouble(), "");
  ASSERT_TRUE(give_everybody("ra", record));
  expect(m.beat(), "the nodes below /" + r + " belong to a user");
  EXPECT_NE(c.engine->trouble().find("belong to a user"), std::string::npos) << c.engine->trouble();
  ASSERT_TRUE(give_everybody("cdrwa", record));
  EXPECT_EQ(m.beat().what, status::ok);
  EXPECT_EQ(c.engine->trouble(), "");
}

TEST_F(zookeeper_bad_input, whatever_is_refused_for_want_of_rights_needs_a_person) {
  client c(url(root()));
  auto m = c.join();
  auto other = c.join();
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok) << held.text;
  const auto queue = c.servers->where().queue(lock_name("a"));
  ASSERT_TRUE(give_everybody("ra", queue));
  EXPECT_TRUE(other.enqueue("a").needs_operator);
  EXPECT_TRUE(m.leave("a", held.mine).needs_operator);
  ASSERT_TRUE(give_everybody("a", queue));
  EXPECT_TRUE(other.attempt("a").needs_operator) << "it looks first";
  EXPECT_TRUE(m.confirm("a", held.mine).needs_operator);
  EXPECT_TRUE(m.leave_unknown("a", m.last_request()).needs_operator) << "it looks for its entry";
  EXPECT_TRUE(c.ask().list().needs_operator);
  ASSERT_TRUE(give_everybody("cdrwa", queue));
  EXPECT_EQ(m.leave("a", held.mine).what, status::ok);
}

TEST_F(zookeeper_bad_input, a_root_that_is_somebody_else_s_or_of_a_newer_format_is_refused) {
  for (const std::string data : {"mine", "", "holdfast-store 2\n"}) {
    const auto r = root();
    client other(url(root()));
    ASSERT_EQ(other.open().what, status::ok);
    ASSERT_TRUE(other.send({create("/" + r), create("/" + r + "/s", data)}).replies.at(1).ok());
    client c(url(r));
    expect(c.await(status::damaged), "/" + r + "/s");
    EXPECT_EQ(other.send({engines::zookeeper::get("/" + r + "/s")}).replies.at(0).data, data);
  }
}

TEST_F(zookeeper_bad_input, a_store_that_is_put_right_is_used) {
  const auto r = root();
  client other(url(root()));
  ASSERT_EQ(other.open().what, status::ok);
  other.send({create("/" + r), create("/" + r + "/s", "mine")});
  client c(url(r));
  c.await(status::damaged);
  other.send({engines::zookeeper::remove("/" + r + "/s")});
  c.await(status::ok);
}

TEST_F(zookeeper_bad_input, a_store_that_was_removed_is_made_again) {
  const auto r = root();
  client c(url(r));
  auto m = c.join();
  m.close();
  const auto& where = c.servers->where();
  c.send(
      {engines::zookeeper::remove(where.sessions()), engines::zookeeper::remove(where.queues())});
  c.await(status::ok);
}

TEST_F(zookeeper_bad_input, foreign_nodes_in_a_queue_and_among_the_sessions_are_damage) {
  client c(url(root()));
  auto m = c.join();
  auto other = c.join();
  ASSERT_EQ(m.enqueue("a").what, status::ok);
  const auto waits = other.enqueue("a");
  ASSERT_EQ(waits.what, status::queued);
  const auto queue = c.servers->where().queue(lock_name("a"));
  c.send({create(queue + "/lock-0000000007")});
  auto late = c.join();
  for (const auto& v : {late.enqueue("a"), late.attempt("a"), other.confirm("a", waits.mine)}) {
    EXPECT_EQ(v.what, status::damaged);
    expect(v, "lock-0000000007");
  }
  EXPECT_EQ(c.ask().list().what, status::damaged);
  c.send({engines::zookeeper::remove(queue + "/lock-0000000007")});
  EXPECT_EQ(late.enqueue("a").what, status::queued);
  EXPECT_EQ(other.confirm("a", waits.mine).what, status::queued);

  c.send({put(c.servers->where().session(m.id()), "holdfast-session 2\nttl 1\n")});
  EXPECT_EQ(c.ask().list().what, status::damaged);
  EXPECT_EQ(c.ask().glance({.whom = {m.id()}}).what, status::damaged);
  EXPECT_EQ(other.confirm("a", waits.mine).what, status::damaged) << "it is in the way, not dead";
  EXPECT_EQ(late.attempt("a").what, status::damaged);
}

TEST_F(zookeeper_bad_input, a_session_that_lacks_nodes_is_taken_over_all_the_same) {
  client c(url(root()));
  auto other = c.join();
  for (const unsigned without : {1U, 2U, 3U}) {
    auto m = c.join();
    const auto& where = c.servers->where();
    if ((without & 1U) != 0) c.send({engines::zookeeper::remove(where.allowed(m.id()))});
    if ((without & 2U) != 0) c.send({engines::zookeeper::remove(where.gate(m.id()))});
    const auto seen = c.ask().list().sessions;
    const auto at = std::ranges::find(seen, m.id(), &core::session_record::id);
    ASSERT_NE(at, seen.end());
    EXPECT_EQ(c.ask().take({m.id(), at->at}).what, status::ok) << without;
    EXPECT_EQ(c.ask().list().sessions.size(), 1U);
  }
}

// Its watch would fire at once, and so would the next one: the waiter would ask without a pause.
TEST_F(zookeeper_bad_input, who_waits_for_a_session_without_its_gate_is_told_of_the_release_only) {
  client c(url(root()));
  auto holder = c.join();
  auto waiter = c.join();
  const auto held = holder.enqueue("a");
  ASSERT_EQ(held.what, status::ok) << held.text;
  c.send({engines::zookeeper::remove(c.servers->where().gate(holder.id()))});
  const auto v = waiter.enqueue("a");
  ASSERT_EQ(v.what, status::queued) << v.text;
  std::atomic<int> told{0};
  auto watch = c.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  ASSERT_EQ(c.ask().list().what, status::ok) << "the watch stands";
  EXPECT_EQ(told, 0);
  holder.leave("a", held.mine);
  EXPECT_TRUE(process::eventually([&] { return told == 1; }));
  EXPECT_EQ(waiter.confirm("a", v.mine).what, status::ok);
}

TEST_F(zookeeper_bad_input, who_waits_for_a_session_that_has_just_ended_is_told_at_once) {
  client c(url(root()));
  auto holder = c.join();
  auto waiter = c.join();
  ASSERT_EQ(holder.enqueue("a").what, status::ok);
  const auto v = waiter.enqueue("a");
  ASSERT_EQ(v.what, status::queued) << v.text;
  // As somebody takes it over who dies then: its entry is still there.
  const auto& where = c.servers->where();
  ASSERT_TRUE(c.send({engines::zookeeper::all_or_none(
                         {engines::zookeeper::remove(where.allowed(holder.id())),
                          engines::zookeeper::remove(where.gate(holder.id())),
                          engines::zookeeper::remove(where.session(holder.id()))})})
                  .replies.at(0)
                  .ok());
  std::atomic<int> told{0};
  auto watch = c.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  EXPECT_TRUE(process::eventually([&] { return told > 0; }));
  EXPECT_EQ(waiter.confirm("a", v.mine).what, status::ok);
}

TEST_F(zookeeper_bad_input, a_request_longer_than_the_servers_take_is_an_answer_in_time) {
  servers small(1, {.settings = {}, .properties = {"-Djute.maxbuffer=3000"}});
  client c(small.url() + "?node_timeout=2s");
  auto m = c.eventually_join();
  const auto v = m.enqueue(std::string(lock_name::bytes_max, '\xff'));
  EXPECT_TRUE(v.what == status::unknown || v.what == status::unavailable) << v.what;
  EXPECT_FALSE(v.text.empty());
  EXPECT_TRUE(process::eventually([&] { return m.enqueue("short").what == status::ok; }));
}

TEST_F(zookeeper_bad_input, a_quota_that_is_used_up_is_named_and_ends_nothing) {
  servers strict(1, {.settings = {}, .properties = {"-Dzookeeper.enforceQuota=true"}});
  client c(strict.url("t") + "?node_timeout=20s");
  auto m = c.eventually_join();
  const auto held = m.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  const std::string quota = "/zookeeper/quota/t";
  const std::string none = "count=1,bytes=1=;byteHardLimit=-1;countHardLimit=1";
  for (const auto& r : c.send({create(quota), create(quota + "/zookeeper_limits", none),
                               create(quota + "/zookeeper_stats", "count=9,bytes=99")})
                           .replies) {
    ASSERT_TRUE(r.ok());
  }
  const auto v = m.enqueue("b");
  EXPECT_EQ(v.what, status::unavailable);
  expect(v, "setquota");
  EXPECT_EQ(c.open().what, status::unavailable);
  EXPECT_EQ(m.beat().what, status::ok);
  EXPECT_EQ(m.leave("a", held.mine).what, status::ok);
}

TEST_F(zookeeper_bad_input, a_server_that_takes_no_more_connections_is_told_as_such) {
  servers s(1, {.settings = {"maxClientCnxns=1"}});
  const auto where = s.url() + "?node_timeout=1s";
  client first(where);
  auto m = first.eventually_join();
  client second(where);
  expect(second.await(status::unavailable), "maxClientCnxns");
  const auto found = engines::zookeeper::diagnose(second.servers);
  ASSERT_TRUE(found);
  std::string servers_told;
  for (const finding& f : *found) {
    if (f.subject == "server") servers_told += f.text + "\n";
  }
  EXPECT_NE(servers_told.find("maxClientCnxns"), std::string::npos) << servers_told;
  EXPECT_EQ(m.beat().what, status::ok);
}

TEST_F(zookeeper_bad_input, a_stopped_server_is_an_unknown_outcome_in_bounded_time) {
  servers s;
  client c(s.url() + "?node_timeout=500ms");
  auto m = c.eventually_join();
  s.at(0).stop();
  const auto begun = clock::now();
  EXPECT_EQ(m.enqueue("a").what, status::unknown);
  EXPECT_LT(clock::now() - begun, 30s);
  s.at(0).resume();
  EXPECT_TRUE(process::eventually([&] { return m.beat().what == status::ok; }));
  EXPECT_TRUE(process::eventually(
      [&] { return m.leave_unknown("a", m.last_request()).what == status::ok; }));
  EXPECT_TRUE(process::eventually([&] { return c.ask().list().locks.empty(); }));
}

}  // namespace
}  // namespace holdfast::zookeeper_tests
