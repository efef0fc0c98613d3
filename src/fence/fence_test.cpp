#include <holdfast/fence.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

const token_source source{store_identity("local/0f"), lock_name("nightly")};
const enter_options at_once{.wait = duration::zero(), .stop = {}};

fencing_token numbered(std::uint64_t value) { return {source, token{value}}; }
errc code(const auto& r) { return r ? errc{} : r.error().code(); }
bool says(const error& e, std::string_view part) {
  return e.message().find(part) != std::string::npos;
}

TEST(fence, admits_equal_and_newer_tokens_and_refuses_older_ones) {
  fence f;
  EXPECT_TRUE(f.admit(numbered(5)));
  EXPECT_TRUE(f.admit(numbered(5)));
  EXPECT_EQ(code(f.admit(numbered(4))), errc::stale_token);
  EXPECT_TRUE(f.admit(numbered(7)));
  EXPECT_EQ(code(f.admit(numbered(5))), errc::stale_token);
  EXPECT_EQ(f.floor(), token{7});
}

TEST(fence, a_stale_token_is_told_both_numbers) {
  fence f;
  ASSERT_TRUE(f.admit(numbered(43)));
  const auto late = f.admit(numbered(41));
  ASSERT_EQ(code(late), errc::stale_token);
  EXPECT_TRUE(says(late.error(), "41")) << late.error().message();
  EXPECT_TRUE(says(late.error(), "43")) << late.error().message();
}

TEST(fence, binds_to_the_first_tokens_source_and_refuses_others_by_name) {
  fence f;
  EXPECT_FALSE(f.source());
  ASSERT_TRUE(f.admit(numbered(5)));
  EXPECT_EQ(f.source(), source);
  auto other = numbered(6);
  other.from.lock = lock_name("weekly");
  auto refused = f.admit(other);
  EXPECT_EQ(code(refused), errc::invalid_argument);
  EXPECT_TRUE(says(refused.error(), "weekly"));
  EXPECT_TRUE(says(refused.error(), "nightly"));
  other = numbered(6);
  other.from.store = store_identity("local/10");
  EXPECT_EQ(code(f.admit(other)), errc::invalid_argument);
  EXPECT_EQ(f.newest(), token{5});
}

TEST(fence, bound_at_its_construction_it_refuses_the_first_foreign_token) {
  fence f(token_source{store_identity("local/10"), lock_name("nightly")});
  EXPECT_EQ(code(f.admit(numbered(5))), errc::invalid_argument);
  EXPECT_EQ(f.newest(), token{0});
}

TEST(fence, a_wait_alone_is_that_of_an_exclusive_lock) {
  fence f;
  const auto older = f.enter(numbered(5), mode::shared());
  ASSERT_TRUE(older);
  EXPECT_EQ(code(f.enter(numbered(6), {.wait = duration::zero()})), errc::timed_out);
  EXPECT_EQ(code(f.enter(numbered(5), {})), errc::stale_token);
}

TEST(fence, refuses_values_that_are_no_token) {
  fence f;
  EXPECT_EQ(code(f.admit(numbered(0))), errc::invalid_argument);
  EXPECT_EQ(code(f.enter(numbered(0), mode::shared())), errc::invalid_argument);
  EXPECT_EQ(code(f.admit(numbered(token_max.value + 1))), errc::invalid_argument);
  EXPECT_EQ(code(f.raise(token{0})), errc::invalid_argument);
  EXPECT_EQ(code(f.raise(token{token_max.value + 1})), errc::invalid_argument);
  EXPECT_FALSE(f.source());
  EXPECT_TRUE(f.admit(numbered(token_max.value)));
}

// Holders that share are granted in any order: none of them replaces another.
TEST(fence, compares_shared_tokens_only_with_the_newest_exclusive_one) {
  fence f;
  ASSERT_TRUE(f.admit(numbered(5)));
  EXPECT_TRUE(f.admit(numbered(9), mode::shared()));
  EXPECT_TRUE(f.admit(numbered(7), mode::shared()));
  EXPECT_EQ(code(f.admit(numbered(4), mode::shared())), errc::stale_token);
  EXPECT_EQ(f.floor(), token{5});
  EXPECT_EQ(f.newest(), token{9});
}

TEST(fence, compares_exclusive_tokens_with_the_newest_of_all) {
  fence f;
  ASSERT_TRUE(f.admit(numbered(9), mode::shared()));
  EXPECT_EQ(code(f.admit(numbered(8))), errc::stale_token);
  EXPECT_TRUE(f.admit(numbered(10)));
  EXPECT_EQ(code(f.admit(numbered(9), mode::shared())), errc::stale_token);
}

TEST(fence, raise_refuses_what_is_below_and_never_lowers) {
  fence f;
  ASSERT_TRUE(f.admit(numbered(5)));
  EXPECT_TRUE(f.raise(token{8}));
  EXPECT_EQ(code(f.admit(numbered(7))), errc::stale_token);
  EXPECT_EQ(code(f.admit(numbered(7), mode::shared())), errc::stale_token);
  EXPECT_TRUE(f.raise(token{3}));
  EXPECT_EQ(f.floor(), token{8});
  EXPECT_TRUE(f.admit(numbered(8)));
}

TEST(fence, is_bound_to_the_lock_of_the_token_that_it_was_raised_to) {
  fence f;
  EXPECT_TRUE(f.raise(token{3}));
  EXPECT_FALSE(f.source());
  EXPECT_TRUE(f.raise(numbered(5)));
  EXPECT_EQ(f.source(), source);
  auto other = numbered(9);
  other.from.lock = lock_name("weekly");
  EXPECT_EQ(code(f.raise(other)), errc::invalid_argument);
  EXPECT_EQ(code(f.admit(other)), errc::invalid_argument);
  EXPECT_EQ(f.floor(), token{5});
  EXPECT_TRUE(f.admit(numbered(5)));
}

TEST(fence, shared_passes_are_together_and_an_exclusive_token_waits_for_all_of_them) {
  fence f;
  auto one = f.enter(numbered(5), mode::shared());
  auto two = f.enter(numbered(6), mode::shared());
  ASSERT_TRUE(one && two);
  EXPECT_EQ(code(f.enter(numbered(7), mode::exclusive(), at_once)), errc::timed_out);
  { const pass ended = std::move(*one); }
  EXPECT_EQ(code(f.enter(numbered(7), mode::exclusive(), at_once)), errc::timed_out);
  { const pass ended = std::move(*two); }
  EXPECT_TRUE(f.enter(numbered(7), mode::exclusive(), at_once));
}

TEST(fence, one_token_may_have_any_number_of_passes) {
  fence f;
  const auto one = f.enter(numbered(5));
  const auto two = f.enter(numbered(5), mode::exclusive(), at_once);
  EXPECT_TRUE(one && two);
}

// Else an older writer that comes again and again would keep the newer one out.
TEST(fence, while_a_newer_token_waits_older_ones_are_refused) {
  fence f;
  const auto old = f.enter(numbered(5));
  ASSERT_TRUE(old);
  EXPECT_EQ(code(f.enter(numbered(6), mode::exclusive(), at_once)), errc::timed_out);
  EXPECT_EQ(code(f.enter(numbered(5), mode::exclusive(), at_once)), errc::stale_token);
  EXPECT_EQ(code(f.admit(numbered(5))), errc::stale_token);
}

// The floor is raised when a token arrives, which must not be taken for its admission.
TEST(fence, a_token_that_had_to_wait_is_not_admitted_by_a_second_call_either) {
  fence f;
  auto old = f.enter(numbered(5));
  ASSERT_TRUE(old);
  EXPECT_EQ(code(f.admit(numbered(6))), errc::busy);
  EXPECT_EQ(code(f.admit(numbered(6))), errc::busy);
  EXPECT_EQ(code(f.admit(numbered(7), mode::shared())), errc::busy);
  { const pass ended = std::move(*old); }
  EXPECT_TRUE(f.admit(numbered(7), mode::shared()));
  EXPECT_TRUE(f.admit(numbered(7)));
}

TEST(fence, what_gave_up_for_older_passes_has_raised_the_floor_for_good) {
  fence f;
  const auto old = f.enter(numbered(5));
  ASSERT_TRUE(old);
  const auto busy = f.admit(numbered(6));
  ASSERT_EQ(code(busy), errc::busy);
  EXPECT_TRUE(busy.error().message().starts_with("passes of tokens older than 6 are still under"))
      << busy.error().message();
  EXPECT_EQ(code(f.admit(numbered(5))), errc::stale_token);
  EXPECT_EQ(code(f.raise(token{8}, at_once)), errc::timed_out);
  EXPECT_EQ(code(f.enter(numbered(7), mode::exclusive(), at_once)), errc::stale_token);
}

TEST(fence, raise_waits_for_older_passes_also_when_a_newer_token_waits_already) {
  fence f;
  const auto old = f.enter(numbered(5));
  ASSERT_TRUE(old);
  EXPECT_EQ(code(f.enter(numbered(9), mode::exclusive(), at_once)), errc::timed_out);
  EXPECT_EQ(code(f.raise(token{6}, at_once)), errc::timed_out);
  EXPECT_EQ(f.floor(), token{9});
}

TEST(fence, a_wait_ends_when_it_is_cancelled) {
  fence f;
  const auto old = f.enter(numbered(5));
  std::stop_source stop;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  EXPECT_EQ(code(f.enter(numbered(6), mode::exclusive(), {forever, stop.get_token()})),
            errc::cancelled);
}

TEST(fence, a_waiter_is_told_when_an_even_newer_token_arrives) {
  fence f;
  const auto old = f.enter(numbered(5));
  std::jthread waiter([&] {
    EXPECT_EQ(code(f.enter(numbered(6), mode::exclusive(), {10s, {}})), errc::stale_token);
  });
  while (f.newest() < token{6}) std::this_thread::yield();
  EXPECT_EQ(code(f.enter(numbered(7), mode::exclusive(), at_once)), errc::timed_out);
}

// The race that a check of the token alone does not win: admit, pause, newer writer, write.
TEST(fence, a_newer_writer_waits_while_an_admitted_older_one_is_paused) {
  fence f;
  std::vector<int> storage;
  auto old = f.enter(numbered(1));
  ASSERT_TRUE(old);
  std::atomic<bool> written{false};
  std::jthread newer([&] {
    const auto p = f.enter(numbered(2), mode::exclusive(), {10s, {}});
    ASSERT_TRUE(p);
    storage.push_back(2);
    written = true;
  });
  while (f.newest() < token{2}) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(written);
  storage.push_back(1);
  { const pass ended = std::move(*old); }
  newer.join();
  EXPECT_EQ(storage, (std::vector{1, 2}));
}

TEST(fence, a_paused_older_writer_writes_nothing_once_its_pass_is_invalid) {
  fence f(older_passes::invalidate);
  std::vector<int> storage;
  auto old = f.enter(numbered(1));
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->valid());
  auto newer = f.enter(numbered(2), mode::exclusive(), at_once);
  ASSERT_TRUE(newer);
  EXPECT_TRUE(newer->commit([&] { storage.push_back(2); }));
  EXPECT_FALSE(old->valid());
  EXPECT_EQ(code(old->commit([&] { storage.push_back(1); })), errc::stale_token);
  EXPECT_EQ(storage, std::vector{2});
}

TEST(fence, a_commit_under_way_is_waited_for) {
  fence f(older_passes::invalidate);
  auto old = f.enter(numbered(1));
  ASSERT_TRUE(old);
  const auto size = old->commit([&] {
    EXPECT_EQ(code(f.enter(numbered(2), mode::exclusive(), at_once)), errc::timed_out);
    return 3;
  });
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, 3);
  EXPECT_TRUE(f.enter(numbered(2), mode::exclusive(), at_once));
}

TEST(fence, a_commit_is_under_way_until_the_outer_one_has_ended) {
  fence f(older_passes::invalidate);
  auto old = f.enter(numbered(1));
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->commit([&] {
    EXPECT_TRUE(old->commit([] {}));
    EXPECT_EQ(code(f.enter(numbered(2), mode::exclusive(), at_once)), errc::timed_out);
  }));
  EXPECT_TRUE(f.enter(numbered(2), mode::exclusive(), at_once));
}

TEST(fence, a_pass_may_end_inside_its_own_commit) {
  for (const auto policy : {older_passes::wait, older_passes::invalidate}) {
    fence f(policy);
    auto mine = std::make_unique<pass>(std::move(*f.enter(numbered(1))));
    const auto committed = mine->commit([&] {
      mine.reset();
      EXPECT_TRUE(f.enter(numbered(2), mode::exclusive(), at_once));
    });
    EXPECT_TRUE(committed);
  }
}

TEST(fence, a_pass_that_is_moved_inside_its_own_commit_is_waited_for_until_that_returns) {
  fence f(older_passes::invalidate);
  auto mine = f.enter(numbered(1));
  ASSERT_TRUE(mine);
  std::optional<pass> kept;
  EXPECT_TRUE(mine->commit([&] {
    kept.emplace(std::move(*mine));
    EXPECT_EQ(code(f.enter(numbered(2), mode::exclusive(), at_once)), errc::timed_out);
  }));
  EXPECT_TRUE(f.enter(numbered(2), mode::exclusive(), at_once));
  EXPECT_FALSE(kept->valid());
}

TEST(fence, a_commit_passes_on_what_its_function_answers) {
  fence f;
  auto entered = f.enter(numbered(1));
  ASSERT_TRUE(entered);
  EXPECT_EQ(code(entered->commit([] { return result<void>(errc::unavailable); })),
            errc::unavailable);
  EXPECT_TRUE(entered->commit([] { return result<void>(); }));
  EXPECT_TRUE(entered->commit([] {}));
  const result<int> three = entered->commit([] { return result<int>(3); });
  ASSERT_TRUE(three);
  EXPECT_EQ(*three, 3);
}

TEST(fence, a_pass_may_outlive_its_fence_and_be_moved) {
  std::optional<pass> kept;
  {
    fence f;
    kept.emplace(std::move(*f.enter(numbered(1))));
  }
  pass other = std::move(*kept);
  EXPECT_TRUE(other.valid());
  EXPECT_EQ(other.token(), token{1});
}

TEST(fence_death_test, a_moved_from_pass_stops_the_program) {
  fence f;
  auto p = f.enter(numbered(1));
  const pass taken = std::move(*p);
  EXPECT_DEATH(static_cast<void>(p->valid()), "moved from");
  EXPECT_DEATH(static_cast<void>(p->token()), "a pass that was moved from was used");
}

// For TSan, too: the storage is not atomic, and only passes keep its writers apart.
TEST(fence, writers_of_many_tokens_write_in_the_order_of_their_tokens) {
  for (const auto policy : {older_passes::wait, older_passes::invalidate}) {
    fence f(policy);
    std::uint64_t storage = 0;
    std::atomic<int> refused{0};
    std::vector<std::jthread> writers;
    for (std::uint64_t t = 1; t <= 4; ++t) {
      writers.emplace_back([&, t] {
        for (std::uint64_t round = 0; round < 200; ++round) {
          const std::uint64_t mine = round * 4 + t;
          auto p = f.enter(numbered(mine), mode::exclusive(), {10s, {}});
          const auto done = p ? p->commit([&] {
            EXPECT_LE(storage, mine);
            storage = mine;
          })
                              : result<void>(p.error());
          if (!done) {
            EXPECT_EQ(done.error().code(), errc::stale_token) << done.error().message();
            ++refused;
          }
        }
      });
    }
    writers.clear();
    EXPECT_EQ(storage, 800U);
    EXPECT_LT(refused, 800);
  }
}

// Readers admit on the fast path while writers replace each other.
TEST(fence, the_fast_path_never_admits_below_the_floor) {
  fence f;
  std::atomic<std::uint64_t> newest{0};
  std::jthread raiser([&] {
    for (std::uint64_t t = 1; t <= 3000; ++t) {
      ASSERT_TRUE(f.raise(token{t}));
      newest = t;
    }
  });
  while (newest < 3000) {
    const std::uint64_t before = newest;
    if (before < 2) continue;
    const auto how = before % 2 == 0 ? mode::exclusive() : mode::shared();
    EXPECT_EQ(code(f.admit(numbered(before - 1), how)), errc::stale_token);
    static_cast<void>(f.admit(numbered(before), how));
  }
}

}  // namespace
}  // namespace holdfast
