#include "tests/engine/conformance.hpp"

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

/// Eight threads on one engine, with a witness for each name.

namespace holdfast::conformance {
namespace {

using core::status;

class engine_threads : public engine_test {};
INSTANTIATE_TEST_SUITE_P(on, engine_threads, testing::ValuesIn(built_engines()), kind_name);

constexpr std::uint32_t permits = 3;

/// Who is inside one name, as its holders themselves say.
struct witness {
  std::atomic<int> writers{};
  std::atomic<int> readers{};
  std::atomic<int> permitted{};
  std::atomic<std::uint64_t> newest_writer{};
  std::atomic<int> violations{};

  void enter(mode how, token t) {
    if (how.is_permits()) {
      if (++permitted > static_cast<int>(permits)) ++violations;
      return;
    }
    if (how.is_shared()) {
      ++readers;
      if (writers != 0) ++violations;
      return;
    }
    if (++writers != 1 || readers != 0) ++violations;
    if (newest_writer.exchange(t.value) >= t.value) ++violations;
  }
  void exit(mode how) { (how.is_permits() ? permitted : how.is_shared() ? readers : writers)--; }
};

/// Waits until the entry is granted, by watch alone: a missed change is a failure here.
bool wait_granted(core::engine& e, member& m, const std::string& name, core::queue_view v) {
  const auto order = v.mine;
  while (v.what == status::queued) {
    std::atomic<bool> told{false};
    const auto watch = e.watch({lock_name(name), order, v.targets}, [&] {
      told = true;
      told.notify_all();
    });
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!told) {
      if (std::chrono::steady_clock::now() > limit) {
        ADD_FAILURE() << "not told within 60 s about " << name;
        return false;
      }
      std::this_thread::yield();
    }
    v = m.confirm(name, order);
  }
  return v.what == status::ok;
}

struct arena {
  std::vector<std::string> names{"x", "y", "p"};
  std::vector<witness> seen{3};
};

void hammer(asker ask, arena& all, std::uint64_t seed, int rounds) {
  std::mt19937_64 random(seed);
  member m(ask);
  for (int i = 0; i < rounds; ++i) {
    const auto at = static_cast<std::size_t>(random() % all.names.size());
    const bool counted = all.names[at] == "p";
    const auto how = counted             ? mode::permits(permits)
                     : random() % 3 != 0 ? mode::exclusive()
                                         : mode::shared();
    auto v = random() % 4 == 0 ? m.attempt(all.names[at], how) : m.enqueue(all.names[at], how);
    if (v.what == status::busy) continue;
    ASSERT_TRUE(v.what == status::ok || v.what == status::queued) << v.what << ' ' << v.text;
    if (v.what == status::queued && random() % 8 == 0) {
      ASSERT_EQ(m.leave(all.names[at], v.mine).what, status::ok);
      continue;
    }
    ASSERT_TRUE(wait_granted(ask.engine(), m, all.names[at], v));
    all.seen[at].enter(how, v.mine);
    if (random() % 4 == 0) m.beat();
    all.seen[at].exit(how);
    if (random() % 16 == 0) {
      ASSERT_EQ(m.close().what, status::ok);
      m = member(ask);
    } else {
      ASSERT_EQ(m.leave(all.names[at], v.mine).what, status::ok);
    }
  }
  EXPECT_EQ(m.close().what, status::ok);
}

TEST_P(engine_threads, eight_threads_never_break_a_mode_and_never_starve) {
  const int rounds = count(500, 20'000);
  arena all;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] { hammer(t % 2 == 0 ? ask() : again(), all, t + 1, rounds); });
  }
  for (auto& t : threads) t.join();
  for (auto& w : all.seen) EXPECT_EQ(w.violations, 0);
  const auto left = ask().list();
  EXPECT_TRUE(left.locks.empty());
  EXPECT_TRUE(left.sessions.empty());
}

TEST_P(engine_threads, one_session_may_be_used_by_many_threads) {
  const int rounds = fewer_on_clusters(200);
  auto m = join();
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> request{1000};
  std::atomic<int> bad{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        core::enqueue_request r;
        r.name = lock_name("n" + std::to_string(t));
        r.id = m.id();
        r.inc = m.inc();
        r.gate = m.gate();
        r.request = ++request;
        const auto v = ask().enqueue(r);
        if (v.what != status::ok) ++bad;
        if (ask().beat({m.id(), m.inc(), r.request}).what != status::ok) ++bad;
        if (ask().leave({r.name, m.id(), m.inc(), r.request, v.mine, false}).what != status::ok) {
          ++bad;
        }
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(bad, 0);
  EXPECT_TRUE(ask().list().locks.empty());
}

TEST_P(engine_threads, one_of_many_takers_wins) {
  for (int round = 0; round < 50; ++round) {
    auto dead = join();
    const auto seen = dead.record().at;
    std::atomic<int> won{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        if (ask().take({dead.id(), seen}).what == status::ok) ++won;
      });
    }
    for (auto& t : threads) t.join();
    ASSERT_EQ(won, 1);
  }
}

TEST_P(engine_threads, a_beat_and_a_take_never_both_win) {
  const int rounds = count(300, 300);
  for (int round = 0; round < rounds; ++round) {
    auto owner = join();
    const auto seen = owner.record().at;
    std::atomic<int> won{0};
    std::thread taker([&] {
      if (ask().take({owner.id(), seen}).what == status::ok) ++won;
    });
    if (owner.beat().what == status::ok) ++won;
    taker.join();
    ASSERT_EQ(won, 1);
  }
}

}  // namespace
}  // namespace holdfast::conformance
