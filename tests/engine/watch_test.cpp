#include "tests/engine/conformance.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

/// watch: a change after the view that named the targets is never missed.

namespace holdfast::conformance {
namespace {

using core::status;

class engine_watch : public engine_test {};
INSTANTIATE_TEST_SUITE_P(on, engine_watch, testing::ValuesIn(built_engines()), kind_name);

/// Set by notify, waited for with a limit.
class bell {
 public:
  // Notified under the mutex: the waiter may destroy the bell as soon as it has the mutex.
  void ring() {
    const std::scoped_lock hold(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool wait(std::chrono::milliseconds limit = std::chrono::seconds{20}) {
    std::unique_lock hold(mutex_);
    return changed_.wait_for(hold, limit, [&] { return count_ > 0; });
  }
  int count() {
    const std::scoped_lock hold(mutex_);
    return count_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_{};
};

core::watch_request watch_of(const std::string& name, const core::queue_view& v) {
  return {lock_name(name), v.mine, v.targets};
}

TEST_P(engine_watch, a_waiter_that_leaves_gives_the_lock_to_nobody) {
  for (const mode how : {mode::exclusive(), mode::shared()}) {
    auto holder = join(), between = join(), waiter = join();
    const auto held = holder.enqueue("a");
    const auto given_up = between.enqueue("a");
    const auto mine = waiter.enqueue("a", how);
    bell b;
    const auto watch = ask().engine().watch(watch_of("a", mine), [&] { b.ring(); });
    between.leave("a", given_up.mine);
    EXPECT_TRUE(b.wait());
    EXPECT_EQ(waiter.confirm("a", mine.mine).what, status::queued);
    holder.leave("a", held.mine);
    EXPECT_EQ(waiter.confirm("a", mine.mine).what, status::ok);
    waiter.leave("a", mine.mine);
  }
}

// It may be told at once, and never is never told.
TEST_P(engine_watch, who_watches_by_another_client_is_told_of_the_release) {
  auto holder = join(), waiter = join();
  const auto held = holder.enqueue("a");
  const auto mine = waiter.enqueue("a");
  auto other = again();
  bell b;
  const auto watch = other.engine().watch(watch_of("a", mine), [&] { b.ring(); });
  holder.leave("a", held.mine);
  EXPECT_TRUE(b.wait());
}

TEST_P(engine_watch, leave_close_and_take_notify_whoever_watches) {
  for (int how = 0; how < 3; ++how) {
    auto holder = join(), waiter = join();
    const auto held = holder.enqueue("a");
    const auto mine = waiter.enqueue("a");
    bell b;
    const auto watch = ask().engine().watch(watch_of("a", mine), [&] { b.ring(); });
    if (how == 0) holder.leave("a", held.mine);
    if (how == 1) holder.close();
    if (how == 2) ask().take({holder.id(), holder.record().at});
    EXPECT_TRUE(b.wait()) << how;
    EXPECT_EQ(waiter.confirm("a", mine.mine).what, status::ok);
    waiter.close();
    holder.close();
  }
}

TEST_P(engine_watch, a_change_between_the_view_and_the_call_is_not_missed) {
  for (int how = 0; how < 3; ++how) {
    auto holder = join(), waiter = join();
    const auto held = holder.enqueue("a");
    const auto mine = waiter.enqueue("a");
    if (how == 0) holder.leave("a", held.mine);
    if (how == 1) holder.close();
    if (how == 2) ask().take({holder.id(), holder.record().at});
    bell b;
    thread_local bool inside = false;
    inside = true;
    std::atomic<bool> called_inside{false};
    const auto watch = ask().engine().watch(watch_of("a", mine), [&] {
      if (inside) called_inside = true;
      b.ring();
    });
    inside = false;
    EXPECT_TRUE(b.wait()) << how;
    EXPECT_FALSE(called_inside) << "notify ran inside watch()";
    waiter.close();
    holder.close();
  }
}

TEST_P(engine_watch, leaving_by_request_notifies_too) {
  auto holder = join(), waiter = join();
  holder.enqueue("a");
  const auto mine = waiter.enqueue("a");
  bell b;
  const auto watch = ask().engine().watch(watch_of("a", mine), [&] { b.ring(); });
  holder.leave_unknown("a", holder.last_request());
  EXPECT_TRUE(b.wait());
}

TEST_P(engine_watch, arming_races_against_leaving) {
  const int rounds = count(2'000, 20'000);
  auto holder = join(), waiter = join();
  for (int i = 0; i < rounds; ++i) {
    const auto held = holder.enqueue("a");
    ASSERT_EQ(held.what, status::ok);
    const auto mine = waiter.enqueue("a");
    ASSERT_EQ(mine.what, status::queued);
    std::atomic<bool> go{false};
    std::thread leaver([&] {
      while (!go) {
      }
      holder.leave("a", held.mine);
    });
    bell b;
    go = true;
    for (int spin = (i % 64) * 16; spin > 0; --spin)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    auto watch = ask().engine().watch(watch_of("a", mine), [&] { b.ring(); });
    EXPECT_TRUE(b.wait()) << "round " << i;
    leaver.join();
    watch.reset();
    ASSERT_EQ(waiter.confirm("a", mine.mine).what, status::ok);
    waiter.leave("a", mine.mine);
    if (HasFailure()) return;
  }
}

TEST_P(engine_watch, nothing_is_called_after_the_handle_is_gone) {
  const int rounds = fewer_on_clusters(500);
  auto holder = join(), waiter = join();
  for (int i = 0; i < rounds; ++i) {
    const auto held = holder.enqueue("a");
    const auto mine = waiter.enqueue("a");
    // On the heap and freed at once: a late call is a use after free that ASan and TSan report.
    auto seen = std::make_unique<std::atomic<int>>(0);
    auto watch = ask().engine().watch(watch_of("a", mine), [p = seen.get()] { ++*p; });
    std::thread leaver([&] { holder.leave("a", held.mine); });
    watch.reset();
    seen.reset();
    leaver.join();
    waiter.leave("a", mine.mine);
  }
}

TEST_P(engine_watch, a_destroyed_handle_stays_silent) {
  auto holder = join(), waiter = join();
  const auto held = holder.enqueue("a");
  const auto mine = waiter.enqueue("a");
  bell b;
  {
    const auto watch = ask().engine().watch(watch_of("a", mine), [&] { b.ring(); });
  }
  const int before = b.count();
  holder.leave("a", held.mine);
  EXPECT_FALSE(b.wait(std::chrono::milliseconds{before == 0 ? 50 : 0}) && before == 0);
}

TEST_P(engine_watch, the_handle_may_be_destroyed_inside_notify) {
  auto holder = join(), waiter = join();
  const auto held = holder.enqueue("a");
  const auto mine = waiter.enqueue("a");
  bell b;
  std::mutex hold;
  std::unique_ptr<core::watch_handle> watch;
  {
    const std::scoped_lock l(hold);
    watch = ask().engine().watch(watch_of("a", mine), [&] {
      std::unique_ptr<core::watch_handle> own;
      {
        const std::scoped_lock inner(hold);
        own = std::move(watch);
      }
      own.reset();
      b.ring();
    });
  }
  holder.leave("a", held.mine);
  EXPECT_TRUE(b.wait());
}

// Without waiting for the answer there: it may come on the very thread that notifies.
TEST_P(engine_watch, an_engine_may_be_called_from_notify) {
  auto holder = join(), waiter = join();
  const auto held = holder.enqueue("a");
  const auto mine = waiter.enqueue("a");
  const auto granted = std::make_shared<bell>();
  const core::confirm_request again{lock_name("a"), waiter.id(), waiter.inc(), mine.mine,
                                    waiter.last_request()};
  core::engine& engine = ask().engine();
  const auto watch = engine.watch(watch_of("a", mine), [&engine, again, granted] {
    engine.confirm(again, [granted](const core::queue_view& v) {
      if (v.what == status::ok) granted->ring();
    });
  });
  holder.leave("a", held.mine);
  EXPECT_TRUE(granted->wait());
}

TEST_P(engine_watch, many_watchers_of_one_entry_are_all_told) {
  auto writer = join();
  const auto held = writer.enqueue("a");
  std::vector<member> readers;
  std::vector<std::unique_ptr<core::watch_handle>> watches;
  std::vector<bell> bells(static_cast<std::size_t>(fewer_on_clusters(200)));
  for (std::size_t i = 0; i < bells.size(); ++i) {
    readers.emplace_back(ask());
    const auto v = readers.back().enqueue("a", mode::shared());
    ASSERT_EQ(v.targets, std::vector<token>{held.mine});
    watches.push_back(ask().engine().watch(watch_of("a", v), [p = &bells[i]] { p->ring(); }));
  }
  writer.leave("a", held.mine);
  for (auto& b : bells) EXPECT_TRUE(b.wait());
  watches.clear();
}

TEST_P(engine_watch, the_next_one_is_told_though_another_mode_waits_behind_it) {
  for (const bool reads : {true, false}) {
    SCOPED_TRACE(reads ? "a reader and a writer" : "a writer and a reader");
    auto holder = join(), next = join(), last = join();
    const auto held = holder.enqueue("a");
    const auto mine = next.enqueue("a", reads ? mode::shared() : mode::exclusive());
    last.enqueue("a", reads ? mode::exclusive() : mode::shared());
    bell b;
    const auto watch = ask().engine().watch(watch_of("a", mine), [&] { b.ring(); });
    holder.leave("a", held.mine);
    EXPECT_TRUE(b.wait());
    EXPECT_EQ(next.confirm("a", mine.mine).what, status::ok);
    next.close();
    last.close();
  }
}

TEST_P(engine_watch, any_of_several_targets_notifies) {
  for (int which = 0; which < 3; ++which) {
    std::vector<member> holders;
    std::vector<token> orders;
    for (int i = 0; i < 3; ++i) {
      holders.emplace_back(ask());
      orders.push_back(holders.back().enqueue("p", mode::permits(3)).mine);
    }
    auto waiter = join();
    const auto mine = waiter.enqueue("p", mode::permits(3));
    ASSERT_EQ(mine.targets, orders);
    bell b;
    const auto watch = ask().engine().watch(watch_of("p", mine), [&] { b.ring(); });
    holders[static_cast<std::size_t>(which)].close();
    EXPECT_TRUE(b.wait()) << which;
    EXPECT_EQ(waiter.confirm("p", mine.mine).what, status::ok);
    for (auto& h : holders) h.close();
    waiter.close();
  }
}

}  // namespace
}  // namespace holdfast::conformance
