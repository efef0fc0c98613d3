#include "client/await.hpp"
#include "core/store_url.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/open.hpp"
#include "tests/process/child.hpp"
#include "tests/process/proxy.hpp"
#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stop_token>
#include <string>
#include <thread>

namespace holdfast::redlock_tests {

using process::eventually;

namespace {

/// A held lock, and whether it was lost in time.
struct held {
  explicit held(session& s) : l(s.try_acquire(lock_name("a")).value()) {
    l.on_lost([this](const error& e) {
      why = static_cast<int>(e.code());
      text = e.message();
      lost = true;
    });
  }
  lock l;
  std::atomic<int> why{};
  std::string text;  // Before `lost`.
  std::atomic<bool> lost{};
};

/// A client of this paused node waits for it.
bool holds_back_a_command(server& paused) {
  return paused.command({"CLIENT", "LIST"}).text.find(" flags=b ") != std::string::npos;
}

class redlock_losses : public testing::Test {
 protected:
  five_nodes nodes;
};

/// Fault matrix: lock deleted on a majority | the holder is told before its lease ends
TEST_F(redlock_losses, keys_deleted_on_a_majority_are_told_before_the_lease_ends) {
  nodes.init();
  session s = nodes.open("ttl=3s");
  held h(s);
  ASSERT_TRUE(nodes.comes_to("a", 5));
  const auto until = clock::now() + h.l.remaining();
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"DEL", "a"});
  EXPECT_TRUE(eventually([&] { return h.lost.load(); }));
  EXPECT_LT(clock::now(), until + 100ms);
  EXPECT_EQ(h.why, static_cast<int>(errc::lost));
  EXPECT_EQ(h.l.check().error(), errc::lost);
  EXPECT_GT(s.remaining(), 0s);
  EXPECT_TRUE(succeeded(s.try_acquire(lock_name("b"))));
  EXPECT_TRUE(eventually([&] { return nodes.count("a") == 0; }));
}

/// Fault matrix: lock deleted on a minority | the lock stays held; the key is put back
TEST_F(redlock_losses, keys_deleted_on_a_minority_are_put_back) {
  nodes.init();
  session s = nodes.open("ttl=3s");
  held h(s);
  ASSERT_TRUE(nodes.comes_to("a", 5));
  for (std::size_t i = 0; i < 2; ++i) nodes[i].command({"DEL", "a"});
  EXPECT_TRUE(nodes.comes_to("a", 5));
  EXPECT_FALSE(h.lost);
  EXPECT_TRUE(succeeded(h.l.check()));
  EXPECT_EQ(nodes[0].command({"GET", "a"}), nodes[4].command({"GET", "a"}));
}

/// Fault matrix: FLUSHALL on a majority | the holder is told; `recover` makes the store usable
TEST_F(redlock_losses, flushall_on_a_majority_needs_recover) {
  nodes.init(3s);
  session s = nodes.open("ttl=3s");
  held h(s);
  const token old = h.l.token();
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] {
    const auto l = s.try_acquire(lock_name("b"));
    return !l && l.error() == errc::unavailable && l.error().needs_operator();
  })) << "who has a session already";
  EXPECT_TRUE(eventually([&] { return h.lost.load(); }));
  const auto refused = holdfast::open(nodes.url("ttl=3s", 1));
  EXPECT_EQ(refused.error(), errc::unavailable);
  EXPECT_TRUE(refused.error().needs_operator());
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("holdfast redlock recover"));
  const auto recovered = redlock::recover(nodes.url(), {.max_ttl = 3s});
  ASSERT_TRUE(recovered) << recovered.error().message();
  EXPECT_FALSE(recovered->trouble) << recovered->advice;
  EXPECT_TRUE(eventually([&] { return redlock::status(nodes.url()).value().votes == 5; }));
  session fresh = nodes.open("ttl=3s", 1);
  auto l = fresh.acquire(lock_name("a"), {.wait = 20s});
  ASSERT_TRUE(l) << l.error().message();
  EXPECT_GT(l->token(), old);
}

/// Fault matrix: FLUSHALL on a minority | the lock stays held; the nodes rejoin after max_ttl
TEST_F(redlock_losses, flushall_on_a_minority_keeps_the_lock_and_the_nodes_rejoin) {
  nodes.init(3s);
  session s = nodes.open("ttl=3s");
  held h(s);
  ASSERT_TRUE(nodes.comes_to("a", 5));
  for (std::size_t i = 0; i < 2; ++i) nodes[i].command({"FLUSHALL"});
  EXPECT_TRUE(nodes.votes_come_to(3, "ttl=3s"));
  EXPECT_TRUE(nodes.votes_come_to(5, "ttl=3s"));
  EXPECT_FALSE(h.lost);
  EXPECT_TRUE(nodes.comes_to("a", 5));
  EXPECT_FALSE(h.lost);
}

/// Each gets the lock back with a counter of its own.
TEST(redlock_list, shows_the_token_that_it_has_shown_while_nodes_lose_their_state) {
  five_nodes nodes(3);
  nodes.init(3s);
  session s = nodes.open("ttl=3s");
  held h(s);
  store view = store::open(nodes.url("ttl=3s")).value();
  const auto shown = [&] { return view.list().value().locks.at(0).entries.at(0).token; };
  EXPECT_EQ(shown(), h.l.token());
  for (std::size_t i = 0; i < 2; ++i) {
    for (int k = 0; k < 5; ++k) EXPECT_TRUE(s.acquire(lock_name("other")));
    nodes[i].command({"FLUSHALL"});
    ASSERT_TRUE(nodes.votes_come_to(2, "ttl=3s"));
    ASSERT_TRUE(nodes.votes_come_to(3, "ttl=3s"));
    ASSERT_TRUE(nodes.comes_to("a", 3));
    EXPECT_EQ(shown(), h.l.token());
  }
  EXPECT_FALSE(h.lost) << h.text;
  // Another client, which has shown nothing.
  const auto now = store::open(nodes.url("ttl=3s", 1)).value().list();
  ASSERT_TRUE(now) << now.error().message();
  EXPECT_NE(now->locks.at(0).entries.at(0).token, h.l.token()) << "else this shows nothing";
}

/// Fault matrix: FLUSHALL on a majority | a session that the others know is not said not to be
/// there
TEST_F(redlock_losses, a_session_that_a_minority_knows_is_not_unknown) {
  nodes.init();
  session s = nodes.open("ttl=5s");
  auto view = store::open(nodes.url("ttl=5s")).value();
  ASSERT_TRUE(nodes.votes_come_to(5, "ttl=5s"));
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"FLUSHALL"});
  for (int i = 0; i < 6; ++i) {
    const auto denied = view.deny(s.id(), "me", "test");
    EXPECT_TRUE(denied || denied.error() != errc::invalid_argument) << denied.error().message();
  }
  const auto engine =
      engines::redlock::open_redlock(*core::store_url::parse(nodes.url("ttl=5s"))).value().engine;
  const auto c = dynamic_cast<engines::redlock::redlock_engine&>(*engine).nodes();
  // By the next heartbeat it is known which nodes lost their state.
  ASSERT_TRUE(eventually([&] { return c->now_voting()->keepers.size() < 3; }));
  core::glance_request r;
  r.whom = {s.id()};
  for (int i = 0; i < 6; ++i) {
    const auto seen =
        client::await<core::glance_reply>(*engine, [&](auto d) { engine->glance(r, d); });
    EXPECT_TRUE(!seen.there.empty() || seen.what != core::status::ok);
  }
}

/// Fault matrix: FLUSHALL on a majority, tokens=off | the holder is told; works again at once
TEST_F(redlock_losses, without_tokens_flushall_on_a_majority_loses_the_lock) {
  const std::string query = "ttl=2s&tokens=off&assume_fresh=yes";
  session s = nodes.open(query);
  held h(s);
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"FLUSHALL"});
  EXPECT_TRUE(eventually([&] { return h.lost.load(); }));
  EXPECT_TRUE(succeeded(s.acquire(lock_name("b"), {.wait = 10s})));
}

/// Fault matrix: a majority of nodes hangs | the holder is told before its lease ends; works again
/// when they answer
TEST_F(redlock_losses, a_hung_majority_is_told_before_the_lease_ends) {
  nodes.init();
  session s = nodes.open("ttl=1500ms");
  held h(s);
  for (std::size_t i = 0; i < 3; ++i) nodes.stop(i);
  while (h.l.check()) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(eventually([&] { return h.lost.load(); }, 2s));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(h.text, testing::HasSubstr(nodes[i].address()));
  for (std::size_t i = 0; i < 3; ++i) nodes.resume(i);
  session fresh = nodes.open("ttl=5s", 1);
  EXPECT_TRUE(succeeded(fresh.acquire(lock_name("a"), {.wait = 20s})));
}

struct deaf_listener : core::lock_listener {
  void lost(const core::reply&) override {}
  void shortened() override {}
};

/// A session of the engine alone, that asks for the lock "a".
struct asker {
  explicit asker(const std::string& url, duration ttl)
      : engine(engines::redlock::open_redlock(*core::store_url::parse(url)).value().engine) {
    o.draft.id = *session_id::parse("0123456789abcdef0123456789abcdef");
    o.draft.ttl = ttl;
    const auto opened =
        client::await<core::open_reply>(*engine, [&](auto d) { engine->open(o, std::move(d)); });
    EXPECT_EQ(opened.what, core::status::ok) << opened.text;
  }

  template <class Request>
  Request about_the_lock() const {
    Request r;
    r.name = lock_name("a");
    r.id = o.draft.id;
    r.inc = r.request = 1;
    return r;
  }
  core::enqueue_request request() const {
    auto r = about_the_lock<core::enqueue_request>();
    r.listener = std::make_shared<deaf_listener>();
    return r;
  }
  core::queue_view enqueue(const core::enqueue_request& r) const {
    return client::await<core::queue_view>(*engine,
                                           [&](auto d) { engine->enqueue(r, std::move(d)); });
  }
  core::leave_reply leave() const {
    return client::await<core::leave_reply>(*engine, [&](auto d) {
      engine->leave(about_the_lock<core::leave_request>(), std::move(d));
    });
  }
  core::queue_view confirm() const {
    return client::await<core::queue_view>(*engine, [&](auto d) {
      engine->confirm(about_the_lock<core::confirm_request>(), std::move(d));
    });
  }
  core::beat_reply beat() const {
    return client::await<core::beat_reply>(
        *engine, [&](auto d) { engine->beat({.id = o.draft.id, .inc = 1, .attempt = 1}, d); });
  }

  std::shared_ptr<core::engine> engine;
  core::open_request o;
};

/// The program may keep such a session open for long, and its record stays: each denial would cost
/// that memory.
TEST_F(redlock_losses, what_an_engine_keeps_of_a_denied_session_goes_and_its_keys_stay) {
  nodes.init();
  const asker s(nodes.url(), 5s);
  auto r = s.request();
  const std::weak_ptr<core::lock_listener> kept = r.listener;
  ASSERT_EQ(s.enqueue(r).what, core::status::ok);
  r.listener.reset();
  ASSERT_FALSE(kept.expired());
  s.engine->forget(r.id, {.what = core::status::denied, .text = {}});
  EXPECT_TRUE(eventually([&] { return kept.expired(); }));
  EXPECT_GE(nodes.count("a"), 3U) << "it was denied, and its holder may be stopping still";
  EXPECT_TRUE(nodes.comes_to("a", 0)) << "with its ttl";
}

/// Fault matrix: a session is denied, and its holder has stopped | what it held is free when it is
/// closed, not only after its ttl
TEST_F(redlock_losses, what_a_denied_session_held_is_free_when_it_is_closed) {
  nodes.init();
  const asker s(nodes.url(), 60s);
  ASSERT_EQ(s.enqueue(s.request()).what, core::status::ok);
  s.engine->forget(s.o.draft.id, {.what = core::status::denied, .text = {}});
  ASSERT_GE(nodes.count("a"), 3U);
  const auto close = [&] {
    return client::await<core::reply>(
        *s.engine, [&](auto d) { s.engine->close({.id = s.o.draft.id, .inc = 1}, std::move(d)); });
  };
  EXPECT_EQ(close().what, core::status::ok);
  EXPECT_TRUE(nodes.comes_to("a", 0));
  EXPECT_EQ(close().what, core::status::gone);
}

/// Fault matrix: a session is denied that waited for a lock before it held it | its client listens
/// for that lock no longer
TEST_F(redlock_losses, who_is_denied_listens_for_its_locks_no_longer) {
  nodes.init();
  const auto listeners = [&] {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto said = nodes[i].command({"PUBSUB", "NUMSUB", engines::redlock::free_channel("a")});
      all += said.elements.at(1).integer;
    }
    return all;
  };
  session before = nodes.open();
  auto l = before.try_acquire(lock_name("a")).value();
  const asker s(nodes.url(), 5s);
  ASSERT_EQ(s.enqueue(s.request()).what, core::status::queued);
  ASSERT_TRUE(eventually([&] { return listeners() > 0; }));
  EXPECT_TRUE(succeeded(std::move(l).release()));
  ASSERT_TRUE(eventually([&] { return s.confirm().what == core::status::ok; }));
  ASSERT_GT(listeners(), 0) << "it may come back for it";
  s.engine->forget(s.o.draft.id, {.what = core::status::denied, .text = {}});
  EXPECT_TRUE(eventually([&] { return listeners() == 0; }));
}

/// Who looks late for what it was granted is to lose no more than that.
///
/// Fault matrix: a lock is lost before its waiter has looked | the lock is told as lost, and not
/// its session
TEST_F(redlock_losses, a_lock_that_is_lost_before_its_waiter_looks_ends_no_session) {
  nodes.init();
  const asker s(nodes.url(), 60s);
  const auto granted = s.enqueue(s.request());
  ASSERT_EQ(granted.what, core::status::ok);
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"DEL", "a"});
  EXPECT_EQ(s.beat().what, core::status::ok);
  ASSERT_TRUE(eventually([&] { return granted.own->is_lost(); }));
  const auto seen = s.confirm();
  EXPECT_EQ(seen.what, core::status::ok);
  EXPECT_TRUE(seen.own && seen.own->is_lost());
  EXPECT_EQ(s.leave().what, core::status::ok);
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

/// Fault matrix: a client that saw a loss earlier brings the node back | the others count it then,
/// and do not wait for as long as they would have to by themselves
TEST_F(redlock_losses, a_node_that_another_client_brought_back_is_counted_at_once) {
  nodes.init(60s);
  session s = nodes.open("ttl=6s&max_ttl=60s");
  ASSERT_TRUE(nodes.comes_to(engines::redlock::session_key(s.id().str()), 5));
  const auto epoch_of = [&](std::size_t i) {
    return nodes[i].command({"HGET", "holdfast:node", "epoch"}).text;
  };
  nodes[0].command({"FLUSHALL"});
  ASSERT_TRUE(eventually([&] { return epoch_of(0) == "0"; }));
  // Until no look is under way that would see it anyhow.
  std::this_thread::sleep_for(1500ms);
  ASSERT_EQ(epoch_of(0), "0");
  nodes[0].command({"HSET", "holdfast:node", "epoch", epoch_of(1)});
  EXPECT_TRUE(eventually(
      [&] {
        const auto l = s.try_acquire(lock_name("b"));
        return l && nodes.comes_to("b", 5, 500ms);
      },
      20s));
}

/// Who was granted a lock too late leaves it and asks again under the same number.
///
/// Fault matrix: a grant comes when its lock was left and taken again, but not on that node | the
/// node is not counted
TEST_F(redlock_losses, a_late_grant_is_none_of_the_next_request_with_its_number) {
  process::proxy slow(nodes[4].port());
  nodes.reach(4, slow.address());
  nodes.init();
  const asker s(nodes.url(), 60s);
  slow.delay(1s);
  ASSERT_EQ(s.enqueue(s.request()).what, core::status::ok);
  ASSERT_EQ(s.leave().what, core::status::ok);
  ASSERT_TRUE(nodes.comes_to("a", 0));
  nodes[4].command({"SET", "a", "somebody's"});
  const auto again = s.enqueue(s.request());
  ASSERT_EQ(again.what, core::status::ok);
  const auto until = again.own->until();
  const auto at_the_slow = [&s] {
    return dynamic_cast<engines::redlock::redlock_engine&>(*s.engine).nodes()->count(4);
  };
  const auto sent = at_the_slow().commands;
  ASSERT_TRUE(eventually([&] {
    const auto now = at_the_slow();
    return now.commands - now.unanswered >= sent;
  }));
  slow.swallow(true);
  for (std::size_t i = 0; i < 2; ++i) nodes[i].command({"DEL", "a"});
  EXPECT_EQ(s.beat().what, core::status::ok);
  EXPECT_TRUE(eventually([&] { return again.own->is_lost(); })) << "two of five have it";
  EXPECT_LT(clock::now(), until);
}

/// Fault matrix: a node never answers an acquire, gets the key back behind another connection, and
/// executes the acquire behind the release | its key is removed again, long before its ttl
TEST_F(redlock_losses, an_acquire_that_was_never_answered_brings_no_released_lock_back) {
  nodes.init();
  const asker s(nodes.url(), 60s);
  nodes[4].command({"CLIENT", "PAUSE", "60000", "WRITE"});
  ASSERT_EQ(s.enqueue(s.request()).what, core::status::ok);
  const std::string value = nodes[0].command({"GET", "a"}).text;
  nodes[4].command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  nodes[4].command({"CLIENT", "UNPAUSE"});
  ASSERT_TRUE(
      eventually([&] { return s.beat().what == core::status::ok && nodes.count("a") == 5; }));
  ASSERT_EQ(s.leave().what, core::status::ok);
  ASSERT_TRUE(nodes.comes_to("a", 0));
  // As the one that may still be on its way.
  nodes[4].command({"SET", "a", value, "PX", "60000"});
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

TEST_F(redlock_losses, an_acquire_that_failed_unanswered_leaves_no_key_when_it_comes_late) {
  nodes.init();
  const asker s(nodes.url("ttl=6s&node_timeout=2500ms"), 60s);
  // A node that was not there when the session began is told of it by a heartbeat.
  const std::string session = engines::redlock::session_key(s.o.draft.id.str());
  ASSERT_TRUE(
      eventually([&] { return s.beat().what == core::status::ok && nodes.count(session) == 5; }));
  for (std::size_t i = 0; i < 3; ++i) nodes[i].command({"CLIENT", "PAUSE", "60000", "WRITE"});
  auto r = s.request();
  r.leave_if_busy = true;
  auto asked = std::async(std::launch::async, [&] { return s.enqueue(r).what; });
  ASSERT_TRUE(nodes.comes_to("a", 2));
  const std::string value = nodes[4].command({"GET", "a"}).text;
  for (std::size_t i = 0; i < 3; ++i) {
    // What has not left cannot come late.
    ASSERT_TRUE(eventually([&] { return holds_back_a_command(nodes[i]); }));
    nodes[i].command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    nodes[i].command({"CLIENT", "UNPAUSE"});
  }
  EXPECT_EQ(asked.get(), core::status::unavailable);
  ASSERT_TRUE(nodes.comes_to("a", 0));
  // The release has been at each of them when what was sent behind it has.
  r.name = lock_name("b");
  r.request = 2;
  ASSERT_TRUE(eventually([&] {
    ++r.request;
    (void)s.enqueue(r);
    return nodes.count("b") == 5;
  }));
  nodes[0].command({"SET", "a", value, "PX", "60000"});
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

TEST_F(redlock_losses, a_key_that_was_put_on_a_node_which_was_not_asked_for_it_is_released_there) {
  nodes.init();
  const asker s(nodes.url(), 60s);
  nodes[4].command({"CONFIG", "SET", "requirepass", "secret"});
  nodes[4].command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  ASSERT_TRUE(eventually([&] { return !s.engine->trouble().empty(); }));
  ASSERT_EQ(s.enqueue(s.request()).what, core::status::ok);
  ASSERT_EQ(nodes.count("a"), 4U);
  nodes[4].command({"CONFIG", "SET", "requirepass", ""});
  ASSERT_TRUE(
      eventually([&] { return s.beat().what == core::status::ok && nodes.count("a") == 5; }));
  ASSERT_EQ(s.leave().what, core::status::ok);
  EXPECT_TRUE(nodes.comes_to("a", 0));
}

TEST_F(redlock_losses, a_session_is_denied_by_as_many_nodes_as_leave_no_majority) {
  nodes.init();
  const asker s(nodes.url(), 60s);
  const auto deny_at = [&](std::size_t i) {
    nodes[i].command({"HSET", engines::redlock::session_key(s.o.draft.id.str()), "denied", "1"});
  };
  deny_at(0);
  deny_at(1);
  ASSERT_EQ(s.enqueue(s.request()).what, core::status::ok);
  deny_at(2);
  auto r = s.request();
  r.name = lock_name("b");
  r.request = 2;
  EXPECT_EQ(s.enqueue(r).what, core::status::denied);
}

/// Fault matrix: a session is denied while it waits, and its owner's callback takes long | the wait
/// ends as denied
TEST_F(redlock_losses, a_wait_of_a_denied_session_ends_as_denied) {
  nodes.init();
  session other = nodes.open("ttl=5s");
  const auto b = other.try_acquire(lock_name("b"));
  ASSERT_TRUE(b) << b.error().message();
  auto of = store::open(nodes.url("ttl=2s")).value();
  session first = of.open_session().value();
  session s = of.open_session().value();
  auto a = s.try_acquire(lock_name("a"));
  ASSERT_TRUE(a) << a.error().message();
  a->on_lost([](const error&) { std::this_thread::sleep_for(6s); });
  std::stop_source enough;
  const std::jthread ahead(
      [&] { (void)first.acquire(lock_name("b"), {.wait = 1h, .stop = enough.get_token()}); });
  auto waits = std::async(std::launch::async,
                          [&] { return s.acquire(lock_name("b"), {.wait = 1h}).error(); });
  ASSERT_TRUE(eventually([&] { return of.list().value().sessions.size() == 3; }));
  std::this_thread::sleep_for(200ms);
  EXPECT_TRUE(of.deny(s.id(), "me", "test"));
  EXPECT_EQ(waits.get(), errc::denied);
  enough.request_stop();
}

}  // namespace

}  // namespace holdfast::redlock_tests
