#include "engines/local/queue_state.hpp"

#include "core/queue.hpp"
#include "engines/local/environment.hpp"
#include "engines/local/store_fixture.hpp"

#include <algorithm>
#include <random>

namespace holdfast::engines::local {
namespace {

class local_watchers : public store_test {};

session_id owner_of(std::uint8_t n) {
  session_id id;
  id.bytes.fill(n);
  return id;
}

/// Puts `live` into the store, each entry with its index as slot, and dead ones between.
void fill(transaction& txn, const lock_name& name, const std::vector<core::entry>& live) {
  core::session_record s;
  s.id = owner_of(1);
  s.at.inc = 1;
  s.ttl = std::chrono::seconds{30};
  txn.put(session_key(s.id).view(), encode(s));
  for (std::size_t i = 0; i < live.size(); ++i) {
    put_entry(txn, name, {live[i], static_cast<std::uint16_t>(i)});
    core::entry dead = live[i];
    dead.order.value += 1;
    dead.owner = owner_of(2);
    put_entry(txn, name, {dead, 4000});
  }
}

std::vector<core::entry> random_queue(std::mt19937& random) {
  std::vector<core::entry> live;
  const bool permits = random() % 3 == 0;
  const auto n = static_cast<std::uint32_t>(1 + random() % 3);
  for (std::uint64_t i = 0; i < 1 + random() % 9; ++i) {
    core::entry e;
    e.order = token{10 + 2 * i};
    e.owner = owner_of(1);
    e.inc = 1;
    e.how = permits ? mode::permits(n) : (random() % 2 == 0 ? mode::shared() : mode::exclusive());
    live.push_back(e);
  }
  return live;
}

TEST_F(local_watchers, everybody_whose_target_leaves_is_woken_and_few_others) {
  auto store = environment::open({path(), {}});
  ASSERT_TRUE(store);
  std::mt19937 random(11);  // NOLINT: the same queues each time.
  for (int round = 0; round < 400; ++round) {
    const lock_name name("q" + std::to_string(round));
    const auto live = random_queue(random);
    const auto failed = (*store)->write([&](transaction& txn, wake_list&) {
      fill(txn, name, live);
      for (std::size_t i = 0; i < live.size(); ++i) {
        std::vector<std::uint16_t> slots;
        add_watchers(txn, name, live[i], slots);
        EXPECT_FALSE(std::ranges::count(slots, 4000)) << "the dead need no waking";
        for (std::size_t w = 0; w < live.size(); ++w) {
          const auto targets = core::watch_targets(live, live[w].order);
          const bool watches_it = std::ranges::count(targets, live[i].order) != 0;
          const bool woken = std::ranges::count(slots, w) != 0;
          EXPECT_TRUE(woken || !watches_it) << "round " << round << ": " << w << " of " << i;
          const bool may = watches_it || core::granted(live, live[w].order);
          EXPECT_TRUE(may || !woken) << "round " << round << ": " << w << " of " << i;
        }
      }
    });
    ASSERT_FALSE(failed) << failed.text;
  }
}

TEST_F(local_watchers, what_an_earlier_incarnation_left_is_in_nobody_s_way) {
  auto store = environment::open({path(), {}});
  ASSERT_TRUE(store);
  const auto failed = (*store)->write([&](transaction& txn, wake_list&) {
    const lock_name name("q");
    core::entry left;
    left.order = token{2};
    left.owner = owner_of(1);
    left.inc = 7;
    core::entry mine = left;
    mine.order = token{20};
    mine.inc = 1;
    fill(txn, name, {left, mine});
    queue_state queue(txn, name);
    ASSERT_EQ(queue.live().size(), 1U) << "the session is in its first incarnation";
    EXPECT_EQ(queue.view(mine.order).what, core::status::ok);
    const auto asked = find_request(txn, name, mine.owner, mine.inc, mine.request);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->what.order, mine.order) << "both incarnations had such a request";
    EXPECT_FALSE(is_alive(txn, name, left.order));
    EXPECT_TRUE(is_alive(txn, name, mine.order));
  });
  ASSERT_FALSE(failed) << failed.text;
}

TEST_F(local_watchers, long_names_whose_keys_are_the_same_have_queues_of_their_own) {
  auto store = environment::open({path(), {}});
  ASSERT_TRUE(store);
  const auto failed = (*store)->write([&](transaction& txn, wake_list&) {
    const lock_name name(std::string(lock_name::bytes_max, 'x'));
    core::entry e;
    e.order = token{10};
    e.owner = owner_of(1);
    e.inc = 1;
    fill(txn, name, {e});
    ASSERT_TRUE(find_entry(txn, name, e.order));
    ASSERT_EQ(queue_state(txn, name).live().size(), 1U);
    // The hashes of another name are those of this one.
    const std::string other(lock_name::bytes_max, 'y');
    txn.put(entry_key(queue_prefix(name), e.order).view(), encode({e, 0}, other));
    EXPECT_FALSE(find_entry(txn, name, e.order));
    EXPECT_TRUE(queue_state(txn, name).live().empty());
  });
  ASSERT_FALSE(failed) << failed.text;
}

TEST_F(local_watchers, sweeping_goes_round_and_deletes_only_the_dead) {
  auto store = environment::open({path(), {}});
  ASSERT_TRUE(store);
  std::mt19937 random(3);  // NOLINT
  (void)(*store)->write([&](transaction& txn, wake_list&) {
    std::size_t kept = 0;
    for (int i = 0; i < 50; ++i) {
      const auto live = random_queue(random);
      kept += live.size();
      fill(txn, lock_name("q" + std::to_string(i)), live);
    }
    std::vector<std::byte> at;
    int calls = 0;
    do {
      at = sweep_some(txn, at, 100).next;
      ++calls;
    } while (!at.empty() && calls < 1000);
    EXPECT_EQ(calls, static_cast<int>((2 * kept + 99) / 100));
    core::listing all;
    copied_records copied;
    copy_all(txn, copied);
    EXPECT_FALSE(list_all(copied, "data", all));
    std::size_t left = 0;
    txn.walk(bytes(&entries_begin, 1), bytes(&entries_begin, 1), [&](bytes, bytes) {
      ++left;
      return true;
    });
    EXPECT_EQ(left, kept);
    EXPECT_EQ(all.locks.size(), 50U);
  });
}

}  // namespace
}  // namespace holdfast::engines::local
