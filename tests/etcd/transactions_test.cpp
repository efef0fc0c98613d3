#include "engines/etcd/requests.hpp"
#include "tests/etcd/engine_fixture.hpp"

#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// What each transaction compares, on a real server: what else only a race would show, where
/// something happens between the look and the transaction.

namespace holdfast::etcd_tests {
namespace {

namespace requests = engines::etcd::requests;
using engines::etcd::txn_result;
using wire::etcd::span;
using wire::etcd::txn;

class etcd_transactions : public testing::Test {
 protected:
  static servers& one() {
    static servers running;
    return running;
  }
  static std::string url() {
    static int prefixes = 0;
    return one().url("t" + std::to_string(++prefixes));
  }

  const engines::etcd::key_space& keys() const { return c_.servers->keys(); }
  std::int64_t epoch() const {
    return c_.on_loop([&] { return c_.servers->epoch().mod; });
  }
  /// What is read from a reply while it is there.
  template <class Read>
  auto decide(const txn& t, Read read) const {
    std::promise<decltype(read(std::declval<const wire::etcd::txn_reply&>()))> promised;
    auto got = promised.get_future();
    c_.servers->shared_loop()->post([&] {
      c_.servers->txn(t, engines::etcd::repeat::never, [&](const txn_result& r) {
        if (r.what == status::ok) return promised.set_value(read(*r.reply));
        promised.set_exception(std::make_exception_ptr(std::runtime_error(r.text)));
      });
    });
    return got.get();
  }
  bool succeeds(const txn& t) const {
    return decide(t, [](const auto& reply) { return reply.succeeded; });
  }
  std::int64_t now() const {
    return decide({}, [](const auto& reply) { return reply.head.revision; });
  }
  std::size_t count(const span& of) const {
    return decide({.then = {{wire::etcd::range{.keys = of}}}},
                  [](const auto& reply) { return reply.ops.at(0).range.all.size(); });
  }
  std::size_t count_below(const session_id& id) const { return count(keys().all_of(id)); }
  std::size_t waiting_for(const char* name) const { return count(keys().queue(lock_name(name))); }

  /// Which of the transactions that make an entry do so: the one that looks at nobody, the one
  /// that goes behind others, and the one on condition that nobody has come since. Only one of
  /// them is sent, for each makes the same entry.
  enum class way : std::uint8_t { at_once, behind_others, if_nobody_came };
  static constexpr way all_ways[]{way::at_once, way::behind_others, way::if_nobody_came};
  bool makes(way which, const core::enqueue_request& r, std::int64_t compared_epoch) const {
    switch (which) {
      case way::at_once:
        return succeeds(requests::enqueue(keys(), compared_epoch, r));
      case way::behind_others:
        return decide(requests::enter(keys(), compared_epoch, r, {}), [](const auto& reply) {
          return reply.succeeded && reply.ops.at(0).nested.at(0).succeeded;
        });
      case way::if_nobody_came:
        return succeeds(requests::append(keys(), compared_epoch, r, now()));
    }
    return false;
  }
  bool makes(way which, const core::enqueue_request& r) const { return makes(which, r, epoch()); }

  const client c_{url()};
  member m_{c_.join()};
};

TEST_F(etcd_transactions, an_entry_is_made_for_the_incarnation_that_asks) {
  for (const auto which : all_ways) {
    auto r = m_.next_request("a" + std::to_string(static_cast<int>(which)));
    ++r.inc;
    EXPECT_FALSE(makes(which, r));
    r.inc = m_.inc();
    EXPECT_TRUE(makes(which, r));
  }
}

// What counts as the token would be of an epoch that is over.
TEST_F(etcd_transactions, an_entry_is_made_in_the_epoch_that_is_known) {
  for (const auto which : all_ways) {
    const auto r = m_.next_request("a" + std::to_string(static_cast<int>(which)));
    EXPECT_FALSE(makes(which, r, epoch() - 1));
    EXPECT_TRUE(makes(which, r));
  }
}

TEST_F(etcd_transactions, no_entry_is_made_for_a_denied_session) {
  ASSERT_EQ(c_.ask().deny({m_.id(), "somebody", "a test"}).what, status::ok);
  for (const auto which : all_ways) EXPECT_FALSE(makes(which, m_.next_request("a")));
}

TEST_F(etcd_transactions, no_entry_is_made_behind_a_gate_that_was_moved) {
  for (const std::uint64_t gate : {1, 2, 3}) {
    for (const auto which : all_ways) {
      auto r =
          m_.next_request("a" + std::to_string(gate) + std::to_string(static_cast<int>(which)));
      for (const std::uint64_t another : {1, 2, 3, 4}) {
        r.gate = another;
        if (another == gate) continue;
        EXPECT_FALSE(makes(which, r)) << another << " at " << gate;
      }
      r.gate = gate;
      EXPECT_TRUE(makes(which, r)) << gate;
    }
    ASSERT_EQ(m_.leave_unknown("a", 1'000).gate, gate + 1);
  }
  ASSERT_EQ(c_.ask().deny({m_.id(), "somebody", "a test"}).what, status::ok);
  auto r = m_.next_request("a");
  r.gate = 4;
  for (const auto which : all_ways) EXPECT_FALSE(makes(which, r)) << "denied";
}

// Its token is the revision in which it was made: written once more, it would be told another.
TEST_F(etcd_transactions, an_entry_that_is_there_is_not_made_again) {
  for (const auto how : {mode::exclusive(), mode::shared()}) {
    const auto r = m_.next_request(how.is_shared() ? "shared" : "exclusive", how);
    ASSERT_TRUE(makes(way::at_once, r));
    EXPECT_FALSE(makes(way::at_once, r));
    EXPECT_FALSE(makes(way::behind_others, r));
  }
}

TEST_F(etcd_transactions, nobody_goes_behind_those_with_whom_he_does_not_agree) {
  ASSERT_TRUE(makes(way::at_once, m_.next_request("a", mode::permits(3))));
  for (const auto how : {mode::exclusive(), mode::shared(), mode::permits(2), mode::permits(4)}) {
    EXPECT_FALSE(makes(way::at_once, m_.next_request("a", how)));
    if (how.is_permits()) continue;
    EXPECT_FALSE(makes(way::behind_others, m_.next_request("a", how)));
  }
  EXPECT_TRUE(makes(way::at_once, m_.next_request("a", mode::permits(3))));
}

// Who was seen dead stays so as long as nobody has come; who has come may be alive.
TEST_F(etcd_transactions, an_entry_is_made_only_if_nobody_has_come_since_the_look) {
  const auto looked = now();
  const auto first = m_.enqueue("a", mode::shared());
  ASSERT_EQ(first.what, status::ok);
  const auto append = [&](std::int64_t revision) {
    return succeeds(
        requests::append(keys(), epoch(), m_.next_request("a", mode::shared()), revision));
  };
  EXPECT_FALSE(append(looked));
  EXPECT_FALSE(append(engines::etcd::revision_of(first.mine) - 1));
  EXPECT_TRUE(append(engines::etcd::revision_of(first.mine)));
}

TEST_F(etcd_transactions, a_session_is_opened_once_and_in_the_epoch_that_is_known) {
  auto draft = conformance::draft_of(conformance::fresh_id()).draft;
  EXPECT_FALSE(succeeds(requests::open(keys(), epoch() - 1, draft)));
  EXPECT_TRUE(succeeds(requests::open(keys(), epoch(), draft)));
  EXPECT_FALSE(succeeds(requests::open(keys(), epoch(), draft)));
}

TEST_F(etcd_transactions, a_beat_is_of_one_incarnation_that_is_not_denied) {
  EXPECT_FALSE(succeeds(requests::beat(keys(), m_.id(), m_.inc() + 1)));
  EXPECT_FALSE(succeeds(requests::beat(keys(), conformance::fresh_id(), m_.inc())));
  EXPECT_TRUE(succeeds(requests::beat(keys(), m_.id(), m_.inc())));
  ASSERT_EQ(c_.ask().deny({m_.id(), "somebody", "a test"}).what, status::ok);
  EXPECT_FALSE(succeeds(requests::beat(keys(), m_.id(), m_.inc())));
}

// A beat or a denial that stayed would be the next session's.
TEST_F(etcd_transactions, of_a_session_that_ends_nothing_stays) {
  const auto live_through = [&](member& m) {
    EXPECT_EQ(m.beat().what, status::ok);
    EXPECT_EQ(m.leave_unknown("a", 1).what, status::ok);
    EXPECT_EQ(c_.ask().deny({m.id(), "somebody", "a test"}).what, status::ok);
    EXPECT_EQ(count_below(m.id()), 4U);
  };
  live_through(m_);
  ASSERT_TRUE(succeeds(requests::close(keys(), m_.id(), m_.inc(), {})));
  EXPECT_EQ(count_below(m_.id()), 0U);
  auto other = c_.join();
  live_through(other);
  ASSERT_TRUE(succeeds(requests::take(keys(), other.id(), other.record().at)));
  EXPECT_EQ(count_below(other.id()), 0U);
}

TEST_F(etcd_transactions, a_session_is_taken_at_the_version_that_was_seen) {
  ASSERT_EQ(m_.beat().what, status::ok);
  const auto seen = m_.record().at;
  for (const core::version& other :
       {core::version{seen.inc + 1, seen.beat, false},
        core::version{seen.inc, seen.beat - 1, false}, core::version{seen.inc, 0, false},
        core::version{seen.inc, seen.beat, true}}) {
    EXPECT_FALSE(succeeds(requests::take(keys(), m_.id(), other))) << other;
  }
  ASSERT_EQ(c_.ask().deny({m_.id(), "somebody", "a test"}).what, status::ok);
  EXPECT_FALSE(succeeds(requests::take(keys(), m_.id(), seen))) << "it has changed by the denial";
  EXPECT_TRUE(succeeds(requests::take(keys(), m_.id(), m_.record().at)));
}

TEST_F(etcd_transactions, who_is_not_there_is_not_denied) {
  const auto nobody = conformance::fresh_id();
  EXPECT_FALSE(succeeds(requests::deny(keys(), nobody, {"somebody", "a test"})));
  EXPECT_EQ(count_below(nobody), 0U);
}

// The key of an entry that was left and made again is the same.
TEST_F(etcd_transactions, an_entry_is_left_by_the_revision_that_made_it) {
  const auto r = m_.next_request("a");
  const auto key = keys().entry(r.name, r.how, r.id, r.inc, r.request);
  ASSERT_TRUE(makes(way::at_once, r));
  const auto created = now();
  core::leave_request l;
  l.name = r.name;
  l.id = r.id;
  l.inc = r.inc;
  for (const bool move_gate : {false, true}) {
    l.move_gate = move_gate;
    succeeds(requests::leave(keys(), l, key, created - 1));
    EXPECT_EQ(waiting_for("a"), 1U);
  }
  l.move_gate = false;
  ++l.inc;
  EXPECT_FALSE(succeeds(requests::leave(keys(), l, key, created)));
  --l.inc;
  EXPECT_TRUE(succeeds(requests::leave(keys(), l, key, created)));
  EXPECT_EQ(waiting_for("a"), 0U);
}

TEST_F(etcd_transactions, a_gate_is_moved_with_the_leave_and_only_of_a_session_that_is_there) {
  const auto held = m_.enqueue("a");
  const auto created = engines::etcd::revision_of(held.mine);
  const auto key = keys().entry(lock_name("a"), mode::exclusive(), m_.id(), m_.inc(), 1);
  core::leave_request l;
  l.name = lock_name("a");
  l.id = m_.id();
  l.inc = m_.inc();
  l.order = held.mine;
  l.move_gate = true;
  EXPECT_TRUE(succeeds(requests::leave(keys(), l, key, created)));
  EXPECT_EQ(waiting_for("a"), 0U);
  EXPECT_EQ(m_.record().gate, 2U);
  const auto again = m_.next_request("a");
  auto behind_the_gate = again;
  behind_the_gate.gate = 2;
  ASSERT_TRUE(makes(way::at_once, behind_the_gate));
  const auto made = now();
  l.inc = m_.inc() + 1;
  EXPECT_FALSE(succeeds(requests::leave(
      keys(), l, keys().entry(again.name, again.how, again.id, again.inc, again.request), made)));
  EXPECT_EQ(m_.record().gate, 2U) << "another incarnation's";
  EXPECT_EQ(waiting_for("a"), 0U) << "what is left of a session that is gone goes all the same";
}

TEST_F(etcd_transactions, leaving_by_number_moves_the_gate_only_when_asked) {
  core::leave_request l;
  l.name = lock_name("a");
  l.id = m_.id();
  l.inc = m_.inc();
  l.request = 7;
  EXPECT_TRUE(succeeds(requests::leave_by_request(keys(), l)));
  EXPECT_EQ(m_.record().gate, 1U);
  l.move_gate = true;
  ++l.inc;
  EXPECT_FALSE(succeeds(requests::leave_by_request(keys(), l)));
  EXPECT_EQ(m_.record().gate, 1U);
  --l.inc;
  EXPECT_TRUE(succeeds(requests::leave_by_request(keys(), l)));
  EXPECT_EQ(m_.record().gate, 2U);
}

// A queue and its sessions that were read at different moments could show a dead entry as alive
// and the one behind it not at all.
TEST_F(etcd_transactions, a_queue_and_its_sessions_are_read_as_they_were_in_one_revision) {
  const auto held = m_.enqueue("a");
  const auto then = engines::etcd::revision_of(held.mine);
  ASSERT_EQ(m_.leave("a", held.mine).what, status::ok);
  const auto read = [](const auto& reply) { return reply.ops.at(0).range.all.size(); };
  EXPECT_EQ(decide(requests::queue(keys(), lock_name("a"), then), read), 1U);
  EXPECT_EQ(decide(requests::queue(keys(), lock_name("a"), 0), read), 0U);
  ASSERT_EQ(m_.close().what, status::ok);
  const auto id = m_.id();
  EXPECT_EQ(decide(requests::sessions(keys(), {&id, 1}, then), read), 1U);
  EXPECT_EQ(decide(requests::sessions(keys(), {&id, 1}, 0), read), 0U);
}

TEST_F(etcd_transactions, an_entry_is_found_by_the_revision_that_made_it) {
  std::vector<token> orders;
  for (int i = 0; i < 3; ++i) orders.push_back(m_.enqueue("a", mode::shared()).mine);
  for (const token order : orders) {
    const auto created = engines::etcd::revision_of(order);
    const auto found =
        decide(requests::find(keys(), lock_name("a"), created), [](const auto& reply) {
          std::vector<std::int64_t> all;
          for (const auto& kv : reply.ops.at(0).range.all) {
            all.push_back(kv.create);
          }
          return all;
        });
    EXPECT_EQ(found, std::vector{created});
  }
}

}  // namespace
}  // namespace holdfast::etcd_tests
