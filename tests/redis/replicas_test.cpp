#include "tests/redis/store.hpp"

#include <thread>

/// A master with replicas is used only when somebody said how, and a promoted one waits.

namespace holdfast::redis_engine_tests {
namespace {

using namespace std::chrono_literals;

class replicas : public store_test {
 protected:
  /// A master that does not wait for more replicas before it sends its data to the first.
  static server::options at_once() { return {.settings = {"--repl-diskless-sync-delay", "0"}}; }
  static server::options durable() {
    server::options o = at_once();
    o.append_only = true;
    o.fsync = "always";
    return o;
  }
  /// Until then it would be waited out for that alone.
  static bool has_written_its_file(server& r) {
    return process::eventually([&] {
      const std::string info = r.command({"INFO", "persistence"}).text;
      return info.find("aof_rewrite_in_progress:0") != std::string::npos &&
             info.find("aof_rewrite_scheduled:0") != std::string::npos;
    });
  }
  token granted_by(const server& m, const std::string& query) {
    max_ttl = "2s";
    const auto o = open(url(m, query));
    await(o, status::ok);
    return member(ask(o), 500ms).enqueue("a").mine;
  }
  void expect_waited_out(server& promoted, token held) {
    promoted.command({"REPLICAOF", "NO", "ONE"});
    const auto began = std::chrono::steady_clock::now();
    const auto o = open("redis://" + promoted.address() + "?max_ttl=" + max_ttl);
    await(o, status::ok);
    EXPECT_GE(std::chrono::steady_clock::now() - began, 2022ms);
    member b(ask(o), 500ms);
    const auto v = b.enqueue("a");
    EXPECT_EQ(v.what, status::ok);
    EXPECT_GT(v.mine, held);
  }
};

TEST_F(replicas, a_master_with_replicas_is_refused_unless_the_url_says_how) {
  server m(at_once()), r;
  attach(r, m);
  const auto reply = await(open(url(m)), status::unsupported);
  EXPECT_NE(reply.text.find("?replicas=1"), std::string::npos) << reply.text;
  EXPECT_NE(reply.text.find("?replicas=ignore"), std::string::npos) << reply.text;
  await(open(url(m, "&replicas=ignore")), status::ok);
}

TEST_F(replicas, a_replica_that_comes_later_is_noticed) {
  server m(at_once()), r;
  const auto o = open(url(m));
  await(o, status::ok);
  attach(r, m);
  await(o, status::unsupported);
}

TEST_F(replicas, a_write_counts_only_when_the_replicas_have_it) {
  server m(at_once()), r;
  attach(r, m);
  const auto o = open(url(m, "&replicas=1&node_timeout=2s"));
  await(o, status::ok);
  member a(ask(o));
  EXPECT_EQ(a.enqueue("a").what, status::ok);
  EXPECT_EQ(a.beat().what, status::ok);
  r.stop();
  const auto beat = a.beat();
  EXPECT_EQ(beat.what, status::unknown);
  EXPECT_NE(beat.text.find("0 of 1 replicas"), std::string::npos) << beat.text;
  EXPECT_EQ(a.enqueue("b").what, status::unknown);
  r.resume();
  EXPECT_TRUE(process::eventually([&] { return a.beat().what == status::ok; }));
}

TEST_F(replicas, a_lock_that_is_given_by_a_message_counts_only_when_the_replicas_have_it) {
  server m(at_once()), r;
  attach(r, m);
  const auto o = open(url(m, "&replicas=1&node_timeout=2s"));
  const auto elsewhere = open(url(m, "&replicas=1&node_timeout=2001ms"));
  await(o, status::ok);
  await(elsewhere, status::ok);
  ASSERT_NE(o.engine, elsewhere.engine) << "WAIT looks at what its own connection wrote";
  member holder(ask(o)), waiter(ask(elsewhere));
  const auto held = holder.enqueue("a");
  const auto v = waiter.enqueue("a");
  std::atomic<int> told{0};
  auto watch = elsewhere.engine->watch({lock_name("a"), v.mine, v.targets}, [&] { ++told; });
  r.stop();
  EXPECT_EQ(holder.leave("a", held.mine).what, status::unknown);
  ASSERT_TRUE(process::eventually([&] { return told > 0; }));
  EXPECT_EQ(waiter.confirm("a", v.mine).what, status::unknown);
  r.resume();
  EXPECT_TRUE(process::eventually([&] { return waiter.confirm("a", v.mine).what == status::ok; }));
}

TEST_F(replicas, fewer_than_the_url_asks_for_are_refused_by_number) {
  server m(at_once());
  const auto reply = await(open(url(m, "&replicas=2")), status::unavailable);
  EXPECT_NE(reply.text.find("it has 0 replicas, the URL asks for 2"), std::string::npos)
      << reply.text;
}

TEST_F(replicas, a_replica_itself_is_refused) {
  server m(at_once()), r;
  attach(r, m);
  const auto reply = await(open(url(r, "&replicas=ignore")), status::unavailable);
  EXPECT_NE(reply.text.find("replica"), std::string::npos) << reply.text;
}

TEST_F(replicas, a_promoted_replica_grants_nothing_before_every_lease_has_ended) {
  server m(at_once()), r;
  attach(r, m);
  const token held = granted_by(m, "&replicas=1");
  m.kill();
  expect_waited_out(r, held);
}

// Redis answers before a replica has it: what that one synced is not all that was answered.
TEST_F(replicas, a_promoted_replica_that_syncs_every_write_is_waited_out_as_well) {
  server m(durable()), r(durable());
  attach(r, m);
  const token held = granted_by(m, "&replicas=ignore");
  m.kill();
  expect_waited_out(r, held);
}

TEST_F(replicas, one_that_was_attached_and_promoted_unseen_is_waited_out_as_well) {
  server m(durable()), r(durable());
  const token held = granted_by(m, "");
  attach(r, m);
  ASSERT_TRUE(has_written_its_file(r));
  m.kill();
  expect_waited_out(r, held);
}

}  // namespace
}  // namespace holdfast::redis_engine_tests
