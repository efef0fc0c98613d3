#include "tests/etcd/engine_fixture.hpp"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <utility>

/// What cannot be read, and what ends between two looks: nobody who may be alive is passed or
/// swept.

namespace holdfast::etcd_tests {
namespace {

class etcd_leftovers : public testing::Test {
 protected:
  std::string record_of(const member& m) const { return "t/s/" + m.id().str(); }
  /// As somebody writes into it who has another program.
  void spoil(const member& m) const { s_.control({"put", record_of(m), "by hand"}); }
  std::size_t entries_of(const std::string& name) const { return s_.count("t/q/" + name + "/"); }

  const servers s_;
  const client c_{s_.url()};
  member holder_{c_.join()};
  member waiter_{c_.join()};
};

TEST_F(etcd_leftovers, a_record_that_cannot_be_read_frees_no_lock) {
  ASSERT_EQ(holder_.enqueue("a").what, status::ok);
  const auto waits = waiter_.enqueue("a");
  ASSERT_EQ(waits.what, status::queued);
  spoil(holder_);
  EXPECT_EQ(waiter_.confirm("a", waits.mine).what, status::damaged);
  EXPECT_EQ(waiter_.attempt("a").what, status::damaged);
  EXPECT_EQ(c_.ask().glance({.whom = {holder_.id()}}).what, status::damaged);
  // Whoever comes looks for entries of the dead.
  client other(s_.url());
  auto late = other.join();
  for (std::uint64_t before = 0; before != other.calls();) {
    before = other.calls();
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_EQ(entries_of("a"), 2U);
}

// It is there: told as anything else, it would stay in everybody's way.
TEST_F(etcd_leftovers, an_entry_that_was_made_behind_damage_is_an_unknown_outcome) {
  ASSERT_EQ(holder_.enqueue("a").what, status::ok);
  spoil(holder_);
  const auto v = waiter_.enqueue("a");
  EXPECT_EQ(v.what, status::unknown);
  EXPECT_NE(v.text.find(record_of(holder_)), std::string::npos) << v.text;
  EXPECT_EQ(entries_of("a"), 2U);
}

TEST_F(etcd_leftovers, an_entry_that_cannot_be_read_is_in_the_way) {
  const auto held = holder_.enqueue("a");
  const auto waits = waiter_.enqueue("a");
  ASSERT_EQ(waits.what, status::queued);
  s_.control({"put",
              c_.servers->keys().entry(lock_name("a"), mode::exclusive(), holder_.id(),
                                       holder_.inc(), holder_.last_request()),
              "by hand"});
  EXPECT_EQ(waiter_.confirm("a", waits.mine).what, status::damaged);
  EXPECT_EQ(entries_of("a"), 2U);
}

TEST_F(etcd_leftovers, a_session_is_not_opened_where_something_else_is) {
  const auto draft = conformance::draft_of(conformance::fresh_id());
  s_.control({"put", "t/s/" + draft.draft.id.str(), "by hand"});
  EXPECT_EQ(c_.ask().open(draft).what, status::damaged);
}

// The gate is moved when the queue was read, and before the entry is made behind those in it; now
// and then, for a server takes what comes at once in any order.
TEST_F(etcd_leftovers, who_is_shut_out_on_its_way_behind_others_sweeps_nobody) {
  const auto held = holder_.enqueue("a");
  ASSERT_EQ(held.what, status::ok);
  auto gate = waiter_.gate();
  for (int i = 0; i < 20; ++i) {
    core::leave_request l;
    l.name = lock_name("b");
    l.id = waiter_.id();
    l.inc = waiter_.inc();
    l.request = 1'000;
    l.move_gate = true;
    auto r = waiter_.next_request("a");
    r.gate = gate;
    std::promise<core::queue_view> answered;
    std::promise<std::uint64_t> moved;
    c_.servers->shared_loop()->post([&] {
      c_.engine->enqueue(r, [&](core::queue_view v) { answered.set_value(std::move(v)); });
      c_.engine->leave(l, [&](const core::leave_reply& done) { moved.set_value(done.gate); });
    });
    gate = moved.get_future().get();
    const auto v = answered.get_future().get();
    if (v.what == status::queued) {
      EXPECT_EQ(waiter_.leave("a", v.mine).what, status::ok);
      continue;
    }
    EXPECT_EQ(v.what, status::stale_gate);
  }
  // A sweep would have been sent before.
  ASSERT_EQ(c_.ask().list().what, status::ok);
  EXPECT_EQ(entries_of("a"), 1U);
  EXPECT_EQ(holder_.confirm("a", held.mine).what, status::ok);
}

// Whoever took it over may have died before it swept.
TEST_F(etcd_leftovers, the_end_of_a_session_wakes_its_waiters_though_its_entry_is_there) {
  ASSERT_EQ(holder_.enqueue("a").what, status::ok);
  const auto waits = waiter_.enqueue("a");
  std::atomic<int> told{0};
  const auto watch = c_.engine->watch({lock_name("a"), waits.mine, waits.targets}, [&] { ++told; });
  ASSERT_EQ(c_.ask().list().what, status::ok);
  s_.control({"del", record_of(holder_)});
  EXPECT_TRUE(process::eventually([&] { return told > 0; }));
  EXPECT_EQ(waiter_.confirm("a", waits.mine).what, status::ok);
}

TEST_F(etcd_leftovers, a_session_is_opened_by_a_client_that_learns_of_a_new_epoch) {
  ASSERT_EQ(c_.write_epoch(5, c_.servers->epoch().value.cluster), status::ok);
  EXPECT_EQ(c_.ask().open(conformance::draft_of(conformance::fresh_id())).what, status::ok);
}

TEST_F(etcd_leftovers, a_session_that_is_closed_leaves_none_of_many_entries) {
  for (int i = 0; i < 250; ++i) {
    ASSERT_EQ(holder_.enqueue("n" + std::to_string(i)).what, status::ok);
  }
  ASSERT_EQ(holder_.close().what, status::ok);
  EXPECT_TRUE(process::eventually([&] { return s_.count("t/q/") == 0; }));
}

}  // namespace
}  // namespace holdfast::etcd_tests
