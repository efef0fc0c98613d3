#include "client/await.hpp"
#include "core/store_url.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/open.hpp"
#include "engines/redlock/waiters.hpp"
#include "tests/process/child.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/observer.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::redlock_tests {

using process::eventually;

namespace {

class redlock_silence : public testing::Test {
 protected:
  redlock_silence() { nodes.init(); }
  /// The nodes of the store that this process has open at `url`.
  static std::shared_ptr<engines::redlock::cluster> inside(const std::string& url) {
    const auto opened = engines::redlock::open_redlock(*core::store_url::parse(url)).value();
    return dynamic_cast<engines::redlock::redlock_engine&>(*opened.engine).nodes();
  }
  static void lock_often(session& s, int times) {
    for (int i = 0; i < times; ++i) {
      auto l = s.try_acquire(lock_name("n" + std::to_string(i)));
      ASSERT_TRUE(l) << l.error().message();
      EXPECT_TRUE(succeeded(std::move(*l).release()));
    }
  }

  const std::string query_ = "ttl=30s&node_timeout=500ms";
  five_nodes nodes;
};

/// Fault matrix: one node hangs | it is not asked for new locks until it answers again
TEST_F(redlock_silence, a_node_that_hangs_is_asked_for_no_new_locks_until_it_answers) {
  session s = nodes.open(query_);
  const auto c = inside(nodes.url(query_));
  lock_often(s, 10);
  nodes.stop(1);
  const auto votes = [&] { return c->now_voting()->voters.has(1); };
  EXPECT_TRUE(eventually([&] {
    const auto before = c->count(1).commands;
    lock_often(s, 20);
    if (c->count(1).commands >= before + 20) return false;
    if (votes()) return true;
    // It was silent for so long that its connection ended: that spares it, too.
    nodes.resume(1);
    EXPECT_TRUE(eventually([&] { return votes() && c->count(1).unanswered == 0; }));
    nodes.stop(1);
    return false;
  }));
  const auto owed = c->count(1).unanswered;
  lock_often(s, 200);
  EXPECT_LE(c->count(1).unanswered, owed + 20) << "nothing but what asks for its clock";
  nodes.resume(1);
  EXPECT_TRUE(eventually([&] { return c->count(1).unanswered == 0; }));
  const auto before = c->count(1).commands;
  lock_often(s, 20);
  EXPECT_GE(c->count(1).commands, before + 40) << "it is asked again";
}

/// Fault matrix: one node hangs | a look at all locks waits for it no longer than the others took
TEST_F(redlock_silence, a_look_at_everything_does_not_wait_for_a_node_that_hangs) {
  session s = nodes.open(query_);
  auto view = store::open(nodes.url(query_)).value();
  const auto l = s.try_acquire(lock_name("x"));
  ASSERT_TRUE(l) << l.error().message();
  ASSERT_EQ(view.list().value().locks.size(), 1U);
  nodes.stop(1);
  const auto began = clock::now();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(view.list().value().locks.size(), 1U);
  EXPECT_LT(clock::now() - began, std::chrono::seconds{8}) << "one look may take 10 s";
  nodes.resume(1);
}

/// Fault matrix: two nodes are slow for a moment, and two others have a key that a release missed |
/// nobody is shown as its holder
TEST_F(redlock_silence, a_node_that_is_only_slow_makes_nobody_a_holder) {
  auto view = store::open(nodes.url(query_)).value();
  for (std::size_t i = 0; i < 2; ++i) {
    nodes[i].command({"SET", "x", std::string(40, 'a'), "PX", "60000"});
  }
  ASSERT_TRUE(view.list().value().locks.empty()) << "no majority has it";
  // A pause of this machine may make them slower.
  EXPECT_TRUE(eventually([&] {
    for (std::size_t i = 3; i < 5; ++i) nodes[i].command({"CLIENT", "PAUSE", "300", "ALL"});
    return view.list().value().locks.empty();
  }));
}

/// Fault matrix: two nodes are slow, and with what the first of them says no lock is in doubt | a
/// look does not wait for the other one
TEST_F(redlock_silence, a_look_ends_when_nobody_who_is_missing_could_make_a_majority) {
  auto view = store::open(nodes.url(query_)).value();
  nodes[0].command({"SET", "x", std::string(40, 'a'), "PX", "60000"});
  ASSERT_TRUE(nodes.votes_come_to(5, query_));
  ASSERT_TRUE(view.list().value().locks.empty());
  // A pause of this machine may make one look slow. Each that waits for both takes 1.1 s.
  EXPECT_TRUE(eventually([&] {
    nodes[3].command({"CLIENT", "PAUSE", "300", "WRITE"});
    nodes[4].command({"CLIENT", "PAUSE", "20000", "WRITE"});
    const auto began = clock::now();
    const bool none = view.list().value().locks.empty();
    const auto took = clock::now() - began;
    nodes[4].command({"CLIENT", "UNPAUSE"});
    return none && took > std::chrono::milliseconds{200} && took < std::chrono::seconds{1};
  }));
}

/// Fault matrix: a majority hangs, and the node that does not refuses a release for a moment | the
/// release ends, and is told as not confirmed
TEST_F(redlock_silence, a_release_ends_that_a_majority_never_confirms) {
  five_nodes three(3);
  three.init();
  session s = three.open("ttl=30s&node_timeout=20ms");
  auto l = s.acquire(lock_name("a"), {.wait = std::chrono::seconds{10}});
  ASSERT_TRUE(l) << l.error().message();
  three[0].command({"ACL", "SETUSER", "default", "-evalsha"});
  three.stop(1);
  three.stop(2);
  const std::jthread soon([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    three[0].command({"ACL", "SETUSER", "default", "+evalsha"});
  });
  const auto began = clock::now();
  EXPECT_EQ(std::move(*l).release().error(), errc::outcome_unknown);
  EXPECT_LT(clock::now() - began, std::chrono::seconds{2}) << "such connections end after 2 s";
  three.resume(1);
  three.resume(2);
}

/// Fault matrix: one node hangs, and could tell whether a majority has a lock | the look waits a
/// second for it, and who looks again and again does not rest for that
TEST_F(redlock_silence, a_node_that_hangs_is_no_large_store) {
  for (std::size_t i = 0; i < 3; ++i) {
    nodes[i].command({"SET", "x", std::string(40, 'a'), "PX", "60000"});
  }
  std::vector<store> views;
  for (int i = 0; i < 4; ++i) views.push_back(store::open(nodes.url(query_)).value());
  ASSERT_TRUE(nodes.votes_come_to(5, query_));
  nodes.stop(0);
  // A pause of this machine may make any of them look large.
  bool is_small = false;
  for (store& view : views) {
    const auto began = clock::now();
    const auto seen = view.list();
    ASSERT_TRUE(seen) << seen.error().message();
    EXPECT_GE(clock::now() - began, std::chrono::seconds{1}) << "it is not waited for";
    is_small = is_small || seen->rest < std::chrono::seconds{1};
  }
  EXPECT_TRUE(is_small);
  nodes.resume(0);
}

/// Fault matrix: a majority is down | no release takes it for one that answers
TEST_F(redlock_silence, a_majority_that_is_down_answers_nobody) {
  session s = nodes.open(query_);
  const auto c = inside(nodes.url(query_));
  ASSERT_TRUE(nodes.votes_come_to(5, query_));
  EXPECT_TRUE(eventually([&] { return c->majority_answers(); }));
  for (std::size_t i = 0; i < 3; ++i) nodes.kill(i);
  EXPECT_TRUE(eventually([&] { return !c->majority_answers(); }));
}

/// Fault matrix: three nodes hang | all are asked, so that the first to answer is counted
TEST_F(redlock_silence, without_a_majority_that_answers_all_are_asked) {
  session s = nodes.open(query_);
  lock_often(s, 5);
  for (std::size_t i = 0; i < 3; ++i) nodes.stop(i);
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(s.try_acquire(lock_name("x")).has_value());
  for (std::size_t i = 0; i < 3; ++i) nodes.resume(i);
  EXPECT_TRUE(eventually([&] { return s.try_acquire(lock_name("x")).has_value(); }));
}

/// The same with the answer itself, for a node that hangs is asked by others too.
TEST_F(redlock_silence, fewer_than_a_majority_are_never_asked_alone) {
  session s = nodes.open(query_);
  const auto c = inside(nodes.url(query_));
  core::redlock::node_set all;
  for (core::redlock::node_index i = 0; i < 5; ++i) all.add(i);
  // However short a silence is, it counts.
  const auto asked = [&] { return c->worth_asking(all, duration{1}).size(); };
  const auto come_to = [&](std::size_t count) {
    return eventually([&] {
      static_cast<void>(s.try_acquire(lock_name("x")));
      return asked() == count;
    });
  };
  nodes.stop(0);
  nodes.stop(1);
  EXPECT_TRUE(come_to(3)) << asked();
  nodes.stop(2);
  EXPECT_TRUE(come_to(5)) << asked();
  for (std::size_t i = 0; i < 3; ++i) nodes.resume(i);
}

/// Fault matrix: all nodes die or hang under those who wait | they end with `unavailable`, not with
/// `timed_out`: nobody can say any more that the lock was held
TEST_F(redlock_silence, who_waits_is_told_that_no_node_answered_any_more) {
  for (const bool die : {false, true}) {
    session holder = nodes.open(query_);
    const lock_name name(die ? "a" : "b");  // What hung frees the other one late.
    const auto l = holder.try_acquire(name);
    ASSERT_TRUE(l) << l.error().message();
    session first = nodes.open(query_, 1);
    session second = nodes.open(query_, 1);
    ASSERT_EQ(first.acquire(name, {.wait = 1s}).error(), errc::timed_out);
    std::vector<std::jthread> all;
    for (session* s : {&first, &second}) {
      all.emplace_back([s, &name] {
        const auto late = s->acquire(name, {.wait = 6s});
        EXPECT_EQ(late.error(), errc::unavailable) << late.error().message();
      });
    }
    std::this_thread::sleep_for(1s);
    for (std::size_t i = 0; i < 5; ++i) die ? nodes.kill(i) : nodes.stop(i);
    all.clear();
    for (std::size_t i = 0; i < 5 && !die; ++i) nodes.resume(i);
  }
}

/// Fault matrix: all nodes are slower than the node timeout for a moment, and a wait ends then | it
/// ends with `timed_out`: the lock was seen as held just before
TEST_F(redlock_silence, who_waits_on_nodes_that_pause_is_told_that_the_lock_is_held) {
  struct sees : observer {
    void on(const event::waiting&) noexcept override { waits = true; }
    std::atomic<bool> waits{};
  };
  session holder = nodes.open(query_);
  const auto l = holder.try_acquire(lock_name("a"));
  ASSERT_TRUE(l) << l.error().message();
  for (int i = 0; i < 10; ++i) {
    const auto seen = std::make_shared<sees>();
    session s =
        *store::open(nodes.url("ttl=30s&node_timeout=5ms", 1))->open_session({.observer = seen});
    std::jthread waiter([&] {
      const auto late = s.acquire(lock_name("a"), {.wait = 350ms});
      // Whoever never saw it held has no other answer.
      EXPECT_TRUE(!seen->waits || late.error() == errc::timed_out) << late.error().message();
    });
    std::this_thread::sleep_for(100ms);
    for (std::size_t n = 0; n < 5; ++n) nodes.stop(n);
    std::this_thread::sleep_for(300ms);
    for (std::size_t n = 0; n < 5; ++n) nodes.resume(n);
  }
}

using redlock_epochs = redlock_silence;

/// As a node that rejoins does it for all.
///
/// Fault matrix: another client moves the epoch of all nodes | the next try has the lock
TEST_F(redlock_epochs, that_another_client_moved_fail_no_try) {
  const std::string query = "ttl=30s&node_timeout=2s";  // A try may last so long.
  session s = nodes.open(query);
  ASSERT_TRUE(nodes.votes_come_to(5, query));
  for (int i = 0; i < 5; ++i) {
    nodes.everywhere({"HINCRBY", "holdfast:node", "epoch", "1"});
    auto l = s.try_acquire(lock_name("a"));
    ASSERT_TRUE(l) << l.error().message();
    EXPECT_TRUE(succeeded(std::move(*l).release()));
  }
}

/// Fault matrix: another client moves the epoch of all nodes | who asks for nothing knows it a
/// second later, and not only when it has looked at one node after the other
TEST_F(redlock_epochs, that_another_client_moved_are_soon_known) {
  session s = nodes.open("ttl=30s");
  const auto c = inside(nodes.url("ttl=30s"));
  const auto all_in = [&](std::uint64_t epoch) {
    const auto now = c->now_voting();
    return now->epoch == epoch && now->voters.size() == 5;
  };
  ASSERT_TRUE(eventually([&] { return all_in(c->now_voting()->epoch); }));
  const auto before = c->now_voting()->epoch;
  nodes.everywhere({"HINCRBY", "holdfast:node", "epoch", "1"});
  EXPECT_TRUE(eventually([&] { return all_in(before + 1); }, 4s));
}

/// Fault matrix: all nodes hang under a session that holds nothing | it is over a ttl after the
/// last heartbeat that they answered
TEST_F(redlock_silence, a_session_whose_nodes_all_hang_is_over_a_ttl_later) {
  session s = nodes.open("ttl=2s&node_timeout=200ms");
  const auto over = s.lost();
  std::this_thread::sleep_for(1s);
  for (std::size_t i = 0; i < 5; ++i) nodes.stop(i);
  const auto began = clock::now();
  EXPECT_TRUE(eventually([&] { return over.stop_requested(); }, 10s));
  EXPECT_LT(clock::now() - began, 4s);
  for (std::size_t i = 0; i < 5; ++i) nodes.resume(i);
}

/// Fault matrix: all nodes hang under a heartbeat | it ends within a ttl, though no other follows
TEST_F(redlock_silence, a_heartbeat_that_nobody_answers_ends_by_itself) {
  const auto url = nodes.url("ttl=2s&node_timeout=200ms");
  const auto e = engines::redlock::open_redlock(*core::store_url::parse(url)).value().engine;
  core::open_request o;
  o.draft.id = *session_id::parse("0123456789abcdef0123456789abcdef");
  o.draft.ttl = 2s;
  const auto opened =
      client::await<core::open_reply>(*e, [&](auto d) { e->open(o, std::move(d)); });
  ASSERT_EQ(opened.what, core::status::ok) << opened.text;
  for (std::size_t i = 0; i < 5; ++i) nodes.stop(i);
  const auto ended = std::make_shared<std::promise<core::status>>();
  auto how = ended->get_future();
  e->beat({.id = o.draft.id, .inc = 1, .attempt = 1},
          [ended](const core::beat_reply& r) { ended->set_value(r.what); });
  ASSERT_EQ(how.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(how.get(), core::status::unknown);
  for (std::size_t i = 0; i < 5; ++i) nodes.resume(i);
}

class hears_nothing final : public io::redis_receiver {
 public:
  void answered(std::uint64_t, const io::redis_answer&) override {}
};

/// A store and one session of it, whose connections are full of what may have half of them.
class redlock_full_connections : public testing::Test {
 protected:
  redlock_full_connections() {
    nodes_.init(10min);
    // What was refused would be sent again in a sixth of the ttl.
    const auto url = nodes_.url("ttl=10m&max_ttl=10m&node_timeout=10s");
    engine_ = engines::redlock::open_redlock(*core::store_url::parse(url)).value().engine;
    cluster_ = dynamic_cast<engines::redlock::redlock_engine&>(*engine_).nodes();
    session_.draft.id = *session_id::parse("0123456789abcdef0123456789abcdef");
    session_.draft.ttl = 10min;
    const auto opened = client::await<core::open_reply>(
        *engine_, [&](auto d) { engine_->open(session_, std::move(d)); });
    EXPECT_EQ(opened.what, core::status::ok) << opened.text;
  }
  /// While their nodes hang.
  void fill() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_.stop(i);
    for (engines::redlock::node_index i = 0; i < nodes_.size(); ++i) {
      while (cluster_->send(i, {.bytes = "PING\r\n", .receiver = nobody_})) continue;
      ASSERT_TRUE(cluster_->is_connected(i)) << "it is full, and not down";
    }
  }

  five_nodes nodes_{3};
  std::shared_ptr<core::engine> engine_;
  std::shared_ptr<engines::redlock::cluster> cluster_;
  core::open_request session_;
  const std::shared_ptr<hears_nothing> nobody_{std::make_shared<hears_nothing>()};
};

/// Fault matrix: every connection has as many unanswered commands as acquires may have there |
/// sessions are renewed all the same
TEST_F(redlock_full_connections, a_session_is_renewed_behind_any_number_of_acquires) {
  fill();
  const auto renewed = std::make_shared<std::promise<core::status>>();
  auto told = renewed->get_future();
  engine_->beat({.id = session_.draft.id, .inc = 1, .attempt = 1},
                [renewed](const core::beat_reply& r) { renewed->set_value(r.what); });
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_.resume(i);
  ASSERT_EQ(told.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(told.get(), core::status::ok);
}

/// Fault matrix: the same | nodes are looked at, and subscriptions end
TEST_F(redlock_full_connections, hold_up_no_look_and_no_end_of_a_subscription) {
  fill();
  const auto before = cluster_->count(0).unanswered;
  cluster_->inspect_again(0);
  EXPECT_TRUE(eventually([&] { return cluster_->count(0).unanswered > before; }, 5s));
  const auto all = std::make_shared<engines::redlock::waiters>(cluster_);
  const auto then = cluster_->count(1).unanswered;
  const std::string channel = engines::redlock::free_channel("left");
  all->heard(1, {.channel = channel, .name = "left"});
  EXPECT_GT(cluster_->count(1).unanswered, then);
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_.resume(i);
}

}  // namespace

}  // namespace holdfast::redlock_tests
