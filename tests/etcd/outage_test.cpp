#include "tests/etcd/client_fixture.hpp"
#include "tests/redis_server/contest.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/store.hpp>

#include <gmock/gmock.h>

#include <future>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

/// \file
/// Real clusters that fail under load and come back: exclusion is kept, tokens grow, all go on.

namespace holdfast::etcd_tests {

using redis_tests::contest;
using testing::IsEmpty;

namespace {

constexpr const char* contended = "contended";

TEST(etcd_outage, a_leader_that_is_killed_again_and_again_breaks_nothing) {
  servers s(3, quick);
  const auto urls = s.urls("ttl=5s&node_timeout=500ms", 3);
  contest c(urls, contended);
  EXPECT_TRUE(c.more(20)) << c.troubles();
  for (int i = 0; i < process::rounds(3, 60); ++i) {
    const auto leader = s.leader();
    s.at(leader).kill();
    EXPECT_TRUE(c.more(10, 60s)) << "round " << i << "\n" << c.troubles();
    s.at(leader).launch();
    s.await_leader();
  }
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  expect_clean(urls[0], contended);
}

TEST(etcd_outage, a_cluster_that_is_killed_as_a_whole_goes_on_where_it_was) {
  servers s(3, quick);
  const auto urls = s.urls("ttl=5s&node_timeout=500ms", 3);
  auto kept = take(s.urls("ttl=60s&node_timeout=500ms", 1)[0], "kept");
  contest c(urls, contended);
  EXPECT_TRUE(c.more(20)) << c.troubles();
  for (int i = 0; i < process::rounds(2, 40); ++i) {
    for (std::size_t n = 0; n < s.size(); ++n) s.at(n).kill();
    for (std::size_t n = 0; n < s.size(); ++n) s.at(n).launch();
    s.await_leader();
    EXPECT_TRUE(c.more(10, 60s)) << "round " << i << "\n" << c.troubles();
    EXPECT_TRUE(kept.held->check()) << "its ttl is longer than the outage";
  }
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  give_back(std::move(kept));
  expect_clean(urls[0], contended);
}

/// Every one's lease is extended once more.
void expect_beats(const std::vector<holding>& all) {
  std::vector<time_point> until;
  for (const auto& h : all) until.push_back(clock::now() + h.by->remaining());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& by = *all[i].by;
    EXPECT_TRUE(process::eventually([&] { return clock::now() + by.remaining() > until[i] + 1s; }))
        << by.status().reason;
  }
}

/// What the advisor calls the smallest safe ttl of a store, measured under the load of `c`.
duration advised(const std::string& url, const contest& c) {
  const auto seen = store::open(url).value().advise_ttl();
  if (!seen) throw std::runtime_error(seen.error().message() + "\n" + c.troubles());
  const std::string words = "the smallest safe ttl is ";
  const auto at = seen->text.find(words);
  if (at == std::string::npos) throw std::runtime_error("no advice: " + seen->text);
  const auto rest = seen->text.substr(at + words.size());
  return parse_duration(rest.substr(0, rest.find(". "))).value();
}

TEST(etcd_outage, no_lock_is_lost_while_every_server_is_restarted_one_by_one_under_load) {
  servers s(3, quick);
  duration ttl{};
  {
    contest load(s.urls("ttl=20s&node_timeout=500ms", 3), contended);
    EXPECT_TRUE(load.more(20)) << load.troubles();
    ttl = advised(s.urls("node_timeout=500ms", 1)[0], load);
    load.end();
  }
  // Twice of it: unlike a machine for servers, this one runs other tests, which come and go.
  const auto urls = s.urls("node_timeout=500ms&ttl=" + print_duration(2 * ttl), 3);
  std::vector<holding> kept;
  for (int i = 0; i < 10; ++i) kept.push_back(take(urls[0], "kept " + std::to_string(i)));
  contest c(urls, contended);
  EXPECT_TRUE(c.more(20)) << c.troubles();
  for (int round = 0; round < process::rounds(1, 10); ++round) {
    for (std::size_t n = 0; n < s.size(); ++n) {
      s.at(n).shutdown();
      EXPECT_TRUE(c.more(10, 60s)) << "without server " << n << "\n" << c.troubles();
      s.at(n).launch();
      s.await_leader();
    }
  }
  EXPECT_TRUE(c.more(20, 60s)) << c.troubles();
  c.end();
  EXPECT_THAT(c.violations(), IsEmpty());
  EXPECT_EQ(c.lost_sessions(), 0) << c.troubles();
  expect_beats(kept);
  for (auto& k : kept) {
    EXPECT_TRUE(k.held->check());
    give_back(std::move(k));
  }
  expect_clean(urls[0], contended);
}

TEST(etcd_outage, a_waiter_is_woken_though_its_history_was_compacted_and_its_server_is_gone) {
  servers s(3, quick);
  const std::string url = s.urls("ttl=60s&node_timeout=500ms", 1)[0];
  auto holder = take(url, "a");
  // Which server a client asks first is chosen at random: all of them, one after the other.
  for (std::size_t n = 0; n < s.size(); ++n) {
    std::promise<result<lock>> promised;
    auto waiting = join(s.url_of({n, (n + 1) % 3}, "ttl=60s&node_timeout=500ms"));
    waiting.acquire(lock_name("a"), {.wait = 90s},
                    [&](result<lock> l) { promised.set_value(std::move(l)); });
    ASSERT_TRUE(process::eventually([&] { return s.count("t/q/a/") == 2; }));
    for (int i = 0; i < 20; ++i) s.control({"put", "other", std::to_string(i)});
    ASSERT_FALSE(s.control({"compact", "--physical", std::to_string(s.revision())}).empty());
    s.at(n).kill();
    const token last = holder.held->token();
    auto released = std::move(*holder.held).release();
    EXPECT_TRUE(released || released.error() == errc::outcome_unknown)
        << released.error().message();
    auto next = promised.get_future().get();
    ASSERT_TRUE(next) << next.error().message();
    EXPECT_GT(next->token().value, last.value);
    s.at(n).launch();
    s.await_leader();
    give_back(std::move(holder));
    holder.held.emplace(std::move(*next));
    holder.by = std::make_unique<session>(std::move(waiting));
  }
  give_back(std::move(holder));
  expect_clean(url, "a");
}

TEST(etcd_outage, a_server_that_hangs_adds_one_request_to_a_wait_and_a_stop) {
  servers s(1, quick);
  const std::string url = s.urls("ttl=40s&node_timeout=2s", 1)[0];
  auto waiting = join(url);
  auto stopped = join(url);
  s.at(0).stop();
  auto began = clock::now();
  EXPECT_EQ(waiting.acquire(lock_name("a"), {.wait = 300ms}).error(), errc::outcome_unknown);
  EXPECT_LT(clock::now() - began, 300ms + 3500ms);
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(300ms);
    stop.request_stop();
  });
  began = clock::now();
  EXPECT_EQ(stopped.acquire(lock_name("a"), {.wait = 1min, .stop = stop.get_token()}).error(),
            errc::outcome_unknown);
  EXPECT_LT(clock::now() - began, 300ms + 3500ms);
  s.at(0).resume();
  for (session* one : {&waiting, &stopped}) {
    EXPECT_TRUE(process::eventually([&] { return one->try_acquire(lock_name("a")).has_value(); }));
  }
}

TEST(etcd_outage, a_full_database_ends_locks_and_holds_nobody_up) {
  server_options options = quick;
  options.flags.emplace_back("--quota-backend-bytes=1048576");
  servers s(3, options);
  const std::string url = s.urls("ttl=3s&node_timeout=500ms", 1)[0];
  auto old = take(url, "a");
  std::promise<result<lock>> promised;
  bool still_held = true;
  auto waiting = join(url);
  waiting.acquire(lock_name("a"), {.wait = 90s}, [&](result<lock> l) {
    still_held = l && old.held->check();
    promised.set_value(std::move(l));
  });
  const std::string big(100'000, 'x');
  ASSERT_TRUE(process::eventually(
      [&] {
        s.control({"put", "other", big});
        return s.control({"alarm", "list"}).find("NOSPACE") != std::string::npos;
      },
      60s));
  // Nobody can prove that it lives; who waits is told so in time.
  auto next = promised.get_future().get();
  EXPECT_FALSE(still_held);
  EXPECT_TRUE(process::eventually([&] { return !old.held->check(); }));
  if (next) {
    EXPECT_GT(next->token().value, old.held->token().value);
  }
  const auto refused = open(url);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::unavailable);
  EXPECT_NE(refused.error().message().find("--auto-compaction"), std::string::npos)
      << refused.error().message();

  // What the message asks for.
  s.control({"compact", "--physical", std::to_string(s.revision())});
  ASSERT_TRUE(process::eventually([&] {
    s.control({"defrag"});
    s.control({"alarm", "disarm"});
    return s.control({"alarm", "list"}).find("NOSPACE") == std::string::npos;
  }));
  const token last = next ? next->token() : old.held->token();
  static_cast<void>(old.by->close());
  static_cast<void>(waiting.close());
  expect_clean(url, "a", last);
}

/// A backup forgets what came after it: its revisions begin again where it was made.
TEST(etcd_outage, tokens_grow_and_locks_are_free_after_a_snapshot_was_restored) {
  servers s(3, quick);
  const std::string url = s.urls("ttl=6s&node_timeout=2s", 1)[0];
  const tests::temporary_directory backups;
  auto old = take(url, "a");
  token last = old.held->token();
  for (int i = 0; i < process::rounds(2, 5); ++i) {
    const std::string file = backups.path() + "/" + std::to_string(i);
    // One server's, as etcdctl wants it.
    const std::string save = "ETCDCTL_API=3 etcdctl --endpoints=http://" + s.at(0).address() +
                             " snapshot save " + file + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(save.c_str()), 0);
    // Grants that the backup does not know.
    static_cast<void>(std::move(*old.held).release());
    for (int n = 0; n < 20; ++n) {
      auto l = old.by->acquire(lock_name("a"), {.wait = 30s});
      ASSERT_TRUE(l) << l.error().message();
      last = l->token();
      EXPECT_TRUE(std::move(*l).release());
    }
    old.held.emplace(std::move(*old.by->acquire(lock_name("a"), {.wait = 30s})));
    last = old.held->token();
    for (std::size_t n = 0; n < s.size(); ++n) s.at(n).kill();
    // What docs/etcd.md asks for: until the last ttl is over.
    ASSERT_TRUE(process::eventually([&] { return !old.held->check(); }));
    for (std::size_t n = 0; n < s.size(); ++n) s.at(n).restore(file, "again" + std::to_string(i));
    for (std::size_t n = 0; n < s.size(); ++n) s.at(n).launch();
    s.await_leader();
    static_cast<void>(old.by->close());
    old = take(url, "a");
    EXPECT_GT(old.held->token().value, last.value);
    last = old.held->token();
  }
  give_back(std::move(old));
  expect_clean(url, "a", last);
}

/// The second time its epoch is that of the first time again, which only a client can know.
TEST(etcd_outage, tokens_grow_when_a_snapshot_is_restored_twice_under_a_client) {
  servers s(1, quick);
  const std::string url = s.urls("ttl=3s&node_timeout=500ms", 1)[0];
  const tests::temporary_directory backups;
  const std::string file = backups.path() + "/snapshot";
  const auto client = store::open(url);
  ASSERT_TRUE(client) << client.error().message();
  auto old = take(url, "a");
  const std::string save = "ETCDCTL_API=3 etcdctl --endpoints=http://" + s.at(0).address() +
                           " snapshot save " + file + " >/dev/null 2>&1";
  ASSERT_EQ(std::system(save.c_str()), 0);
  token last = old.held->token();
  for (const char* cluster : {"once", "twice"}) {
    s.at(0).kill();
    ASSERT_TRUE(process::eventually([&] { return !old.held->check(); }));
    s.at(0).restore(file, cluster);
    s.at(0).launch();
    s.await_leader();
    static_cast<void>(old.by->close());
    old = take(url, "a");
    EXPECT_GT(old.held->token().value, last.value);
    for (int n = 0; n < 20; ++n) {
      ASSERT_TRUE(std::move(*old.held).release());
      old.held.emplace(std::move(*old.by->acquire(lock_name("a"), {.wait = 30s})));
    }
    last = old.held->token();
  }
  give_back(std::move(old));
  expect_clean(url, "a", last);
}

}  // namespace
}  // namespace holdfast::etcd_tests
