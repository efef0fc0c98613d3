#include "tests/engine/conformance.hpp"
#include "tests/process/child.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

/// list, and two engine objects on one store.

namespace holdfast::conformance {
namespace {

using core::status;

class engine_listing : public engine_test {};
INSTANTIATE_TEST_SUITE_P(on, engine_listing, testing::ValuesIn(built_engines()), kind_name);

TEST_P(engine_listing, a_fresh_store_is_empty) {
  const auto all = ask().list();
  EXPECT_EQ(all.what, status::ok) << all.text;
  EXPECT_TRUE(all.sessions.empty());
  EXPECT_TRUE(all.locks.empty());
}

TEST_P(engine_listing, entries_are_in_order_with_all_that_was_sent) {
  auto a = join(), b = join();
  const auto va = a.enqueue("x", mode::shared());
  const auto vb = b.enqueue("x");
  const auto all = ask().list();
  ASSERT_EQ(all.sessions.size(), 2U);
  ASSERT_EQ(all.locks.size(), 1U);
  ASSERT_EQ(all.locks[0].entries.size(), 2U);
  const auto& first = all.locks[0].entries[0];
  const auto& second = all.locks[0].entries[1];
  EXPECT_EQ(first.order, va.mine);
  EXPECT_EQ(first.owner, a.id());
  EXPECT_EQ(first.inc, a.inc());
  EXPECT_EQ(first.request, 1U);
  EXPECT_EQ(first.how, mode::shared());
  EXPECT_EQ(first.since, wall_time{std::chrono::microseconds{19}});
  EXPECT_EQ(second.order, vb.mine);
  EXPECT_EQ(second.how, mode::exclusive());
}

TEST_P(engine_listing, a_name_that_nobody_holds_is_not_listed) {
  auto a = join();
  const auto v = a.enqueue("x");
  a.leave("x", v.mine);
  EXPECT_TRUE(ask().list().locks.empty());
  a.enqueue("y");
  a.close();
  EXPECT_TRUE(ask().list().locks.empty());
}

TEST_P(engine_listing, the_revision_differs_after_every_change_that_shows) {
  auto a = join(), b = join();
  std::set<std::uint64_t> seen;
  const auto changed = [&](const char* by) {
    EXPECT_TRUE(seen.insert(ask().list().revision).second) << by;
  };
  changed("start");
  const auto va = a.enqueue("x");
  changed("enqueue");
  b.enqueue("x");
  changed("waiting enqueue");
  a.beat();
  changed("beat");
  a.leave("x", va.mine);
  changed("leave");
  a.leave_unknown("z", 99);
  changed("a moved gate");
  ask().deny({b.id(), "op", "why"});
  changed("deny");
  ask().take({b.id(), b.record().at});
  changed("take");
  auto c = join();
  changed("open");
  c.close();
  changed("close");
  // What the closed sessions left may still be on its way out.
  EXPECT_TRUE(process::eventually([&] {
    const auto now = ask().list().revision;
    return ask().list().revision == now;
  })) << "looking changes nothing";
}

TEST_P(engine_listing, it_is_one_moment_while_others_write) {
  const int looks = fewer_on_clusters(500);
  auto a = join(), b = join();
  std::atomic<bool> stop{false};
  // One of the two names is always held by `a`: first the new one is taken, then the old one left.
  auto held = a.enqueue("left");
  std::thread writer([&] {
    const std::string names[2] = {"left", "right"};
    std::size_t at = 0;
    while (!stop) {
      const auto next = a.enqueue(names[1 - at]);
      a.leave(names[at], held.mine);
      held = next;
      at = 1 - at;
    }
  });
  for (int i = 0; i < looks; ++i) {
    const auto all = ask().list();
    EXPECT_GE(all.locks.size(), 1U);
    EXPECT_EQ(all.sessions.size(), 2U);
  }
  stop = true;
  writer.join();
}

TEST_P(engine_listing, two_opens_of_one_store_see_each_other) {
  auto other = again();
  auto a = join();
  member b(other);
  const auto held = a.enqueue("x");
  const auto mine = b.enqueue("x");
  EXPECT_EQ(mine.what, status::queued);
  EXPECT_EQ(orders_of(mine.ahead), std::vector<token>{held.mine});
  EXPECT_EQ(other.list().sessions.size(), 2U);
  std::atomic<int> notified{0};
  auto watch = other.engine().watch({lock_name("x"), mine.mine, mine.targets}, [&] { ++notified; });
  a.leave("x", held.mine);
  for (int i = 0; i < 5000 && notified == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  EXPECT_GT(notified, 0);
  EXPECT_EQ(b.confirm("x", mine.mine).what, status::ok);
}

TEST_P(engine_listing, a_store_outlives_one_of_its_opens) {
  auto m = join();
  const auto held = m.enqueue("x");
  { const auto other = again(); }
  EXPECT_EQ(m.confirm("x", held.mine).what, status::ok);
  auto third = again();
  EXPECT_EQ(third.list().sessions.size(), 1U);
  member late(third);
  EXPECT_GT(late.enqueue("y").mine, held.mine);
}

}  // namespace
}  // namespace holdfast::conformance
