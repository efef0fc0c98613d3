#include "engines/local/diagnose.hpp"
#include "engines/local/engine.hpp"
#include "engines/local/keys.hpp"
#include "engines/local/store_fixture.hpp"
#include "engines/local/sweeping.hpp"
#include "io/process/life.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::engines::local {
namespace {

using namespace std::chrono_literals;

/// A store that is full with a few thousand records.
class full_store : public store_test {
 protected:
  static constexpr std::size_t size = std::size_t{4} << 20;

  std::shared_ptr<environment> small() const {
    auto made = environment::open({.path = path(), .data_bytes = size});
    if (!made) ADD_FAILURE() << made.error().message();
    return made ? std::move(*made) : nullptr;
  }
  /// Holds new names until one is refused, which is the answer.
  static core::queue_view fill(caller& c, const std::string& prefix, std::vector<token>& held) {
    for (;;) {
      auto v = c.enqueue(prefix + std::to_string(held.size()));
      if (v.what != core::status::ok) return v;
      held.push_back(v.mine);
    }
  }
  static void expect_full(core::status what, const std::string& text) {
    EXPECT_EQ(what, core::status::unavailable);
    EXPECT_NE(text.find("the store is full"), std::string::npos) << text;
    EXPECT_NE(text.find("of its 4 MiB"), std::string::npos) << text;
    EXPECT_EQ(text.find("disk"), std::string::npos) << text;
  }
};

TEST_F(full_store, lets_all_go_on_and_end_who_are_there) {
  const auto store = small();
  const auto engine = std::make_shared<local_engine>(store);
  caller one(engine, 1);
  caller other(engine, 2);
  ASSERT_EQ(one.open().what, core::status::ok);
  ASSERT_EQ(other.open().what, core::status::ok);
  std::vector<token> held;
  const auto last = fill(one, "n", held);
  expect_full(last.what, last.text);
  EXPECT_GT(held.size(), 5'000U);
  const auto newcomer = caller(engine, 3).open();
  expect_full(newcomer.what, newcomer.text);

  for (int i = 0; i < 2'000; ++i) ASSERT_EQ(one.beat().what, core::status::ok) << i;
  EXPECT_EQ(other.enqueue("n0", mode::exclusive(), true).what, core::status::busy);
  EXPECT_EQ(other.close().what, core::status::ok);
  for (std::size_t i = 0; i < held.size(); ++i) {
    ASSERT_EQ(one.leave("n" + std::to_string(i), held[i]).what, core::status::ok) << i;
  }
  held.clear();
  const auto again = fill(one, "m", held);
  expect_full(again.what, again.text);
  EXPECT_GT(held.size(), 5'000U) << "what was given back can be used again";
  EXPECT_EQ(one.close().what, core::status::ok);
  EXPECT_EQ(caller(engine, 4).open().what, core::status::ok);
}

TEST_F(full_store, does_not_keep_what_ended_sessions_held) {
  const auto store = small();
  const auto engine = std::make_shared<local_engine>(store);
  caller stays(engine, 1);
  ASSERT_EQ(stays.open().what, core::status::ok);
  ASSERT_EQ(stays.enqueue("5").what, core::status::ok);
  const auto before = store->data().used().records;
  for (std::uint64_t round = 2; round < 8; ++round) {
    caller c(engine, round);
    const auto opened = c.open();
    ASSERT_EQ(opened.what, core::status::ok);
    for (int i = 0; i < 1'000; ++i) {
      ASSERT_EQ(c.enqueue(std::to_string(round) + "/" + std::to_string(i)).what, core::status::ok);
    }
    if (round % 2 == 0) {
      ASSERT_EQ(c.close().what, core::status::ok);
    } else {
      const core::take_request r{.id = c.id(), .seen = opened.at};
      const auto taken =
          answer_of<core::take_reply>([&](auto done) { engine->take(r, std::move(done)); });
      ASSERT_EQ(taken.what, core::status::ok);
    }
    EXPECT_LE(store->data().used().records, before + 1) << "where to go on is a record, too";
  }
}

TEST_F(full_store, recovers_when_the_processes_that_filled_it_have_ended) {
  const auto engine = std::make_shared<local_engine>(small());
  ASSERT_EQ(in_child([&] {
              const auto mine = std::make_shared<local_engine>(small());
              std::vector<io::life_lock> lives;
              for (std::uint64_t id = 100;; ++id) {
                caller c(mine, id);
                auto life = io::life_lock::hold(path() + "/life", c.id());
                if (!life) return 1;
                lives.push_back(std::move(*life));
                if (c.open(lives.back().place()).what != core::status::ok) break;
                for (int i = 0; i < 100; ++i) (void)c.enqueue("n" + std::to_string(id * 100 + i));
              }
              std::fflush(nullptr);
              ::_exit(lives.size() > 20 ? 0 : 2);
            }),
            0);
  caller next(engine, 1);
  const auto reply = next.open();
  EXPECT_EQ(reply.what, core::status::ok) << reply.text;
  for (int i = 0; i < 1000; ++i) {
    const auto v = next.enqueue("mine" + std::to_string(i));
    ASSERT_EQ(v.what, core::status::ok) << i << " " << v.text;
  }
}

TEST_F(full_store, an_enqueue_alone_clears_away_the_dead) {
  const auto engine = std::make_shared<local_engine>(small());
  caller living(engine, 1);
  ASSERT_EQ(living.open().what, core::status::ok);
  ASSERT_EQ(in_child([&] {
              const auto mine = std::make_shared<local_engine>(small());
              caller c(mine, 2);
              const auto life = io::life_lock::hold(path() + "/life", c.id());
              std::vector<token> held;
              if (!life || c.open(life->place()).what != core::status::ok) return 1;
              (void)fill(c, "n", held);
              ::_exit(held.size() > 5'000 ? 0 : 2);
            }),
            0);
  const auto v = living.enqueue("n0");
  EXPECT_EQ(v.what, core::status::ok) << v.text;
}

// Nothing else removes them while the store stays open.
TEST_F(full_store, making_room_removes_the_life_locks_of_the_dead_and_no_others) {
  const auto store = small();
  const auto engine = std::make_shared<local_engine>(store);
  const std::string lives = path() + "/life";
  caller living(engine, 1);
  const auto its = io::life_lock::hold(lives, living.id());
  ASSERT_TRUE(its);
  ASSERT_EQ(living.open(its->place()).what, core::status::ok);
  // More than are removed in one write.
  for (std::uint64_t id = 2; id < 40; ++id) {
    caller c(engine, id);
    auto life = io::life_lock::hold(lives, c.id());
    ASSERT_TRUE(life);
    // One that was killed before it had a record.
    const bool is_recorded = id > 2;
    ASSERT_TRUE(!is_recorded || c.open(life->place()).what == core::status::ok);
    life->forget();
  }
  make_room(*store);
  EXPECT_EQ(living.list().sessions.size(), 1U);
  std::vector<std::string> left;
  for (const auto& one : std::filesystem::directory_iterator(lives)) {
    left.push_back(one.path().filename().string());
  }
  EXPECT_EQ(left, std::vector{living.id().str()});
}

TEST_F(full_store, who_waits_for_the_dead_is_told_when_room_is_made) {
  const auto store = small();
  const auto engine = std::make_shared<local_engine>(store);
  caller dead(engine, 1);
  caller waiter(engine, 2);
  auto life = io::life_lock::hold(path() + "/life", dead.id());
  ASSERT_TRUE(life);
  ASSERT_EQ(dead.open(life->place()).what, core::status::ok);
  ASSERT_EQ(dead.enqueue("a").what, core::status::ok);
  life->forget();
  // Of those that had no record yet nobody is told.
  for (std::uint64_t id = 3; id < 17; ++id) {
    io::life_lock::hold(path() + "/life", caller(engine, id).id()).value().forget();
  }
  ASSERT_EQ(waiter.open().what, core::status::ok);
  const auto queued = waiter.enqueue("a");
  ASSERT_EQ(queued.what, core::status::queued);
  std::atomic<bool> told{false};
  const auto armed = waiter.watch("a", queued, [&] { told = true; });
  std::this_thread::sleep_for(100ms);  // Its thread looks once by itself.
  make_room(*store);
  for (int i = 0; i < 2'000 && !told; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(told);
  EXPECT_EQ(waiter.confirm("a", queued.mine).what, core::status::ok);
}

TEST_F(full_store, sweeping_goes_on_where_it_was) {
  const auto store = small();
  const auto engine = std::make_shared<local_engine>(store);
  caller living(engine, 1);
  caller gone(engine, 2);
  ASSERT_EQ(living.open().what, core::status::ok);
  ASSERT_EQ(gone.open().what, core::status::ok);
  for (int i = 0; i < 30; ++i) (void)living.enqueue("a" + std::to_string(i));
  for (int i = 0; i < 5; ++i) (void)gone.enqueue("z" + std::to_string(i));
  std::size_t deleted = 0;
  const failure failed = store->write([&](transaction& txn, wake_list&) {
    ASSERT_TRUE(txn.erase(session_key(gone.id()).view()));
    for (int i = 0; i < 10; ++i) deleted += sweep_on(txn, 10).deleted;
  });
  EXPECT_FALSE(failed) << failed.text;
  EXPECT_EQ(deleted, 5U) << "behind those that live";
}

// As after a restored backup of the directory.
TEST_F(full_store, a_copy_of_a_life_lock_makes_no_room) {
  const auto store = small();
  const auto engine = std::make_shared<local_engine>(store);
  caller copied(engine, 1);
  caller dead(engine, 2);
  auto life = io::life_lock::hold(path() + "/life", copied.id());
  auto ended = io::life_lock::hold(path() + "/life", dead.id());
  ASSERT_TRUE(life && ended);
  ASSERT_EQ(copied.open(life->place()).what, core::status::ok);
  ASSERT_EQ(dead.open(ended->place()).what, core::status::ok);
  const std::string its_file = file("life/" + copied.id().str());
  std::filesystem::copy(its_file, its_file + ".copy");
  std::filesystem::rename(its_file + ".copy", its_file);
  ended->forget();
  make_room(*store);
  const auto left = copied.list().sessions;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].id, copied.id());
  EXPECT_TRUE(std::filesystem::exists(its_file)) << "its record is there";
}

TEST_F(full_store, says_so_too_when_the_last_page_is_gone) {
  const auto store = small();
  failure failed;
  for (std::uint32_t n = 0; !failed; ++n) {
    failed = store->write([&](transaction& txn, wake_list&) {
      const std::vector<std::byte> value(1'000);
      txn.put(own_key("filler" + std::to_string(n)).view(), value);
    });
  }
  expect_full(failed.what, failed.text);
  const auto all = diagnose(*store);
  ASSERT_TRUE(all);
  EXPECT_TRUE(std::any_of(all->begin(), all->end(), [](const finding& f) {
    return f.subject == "data" && f.severity == severity::warning;
  }));
}

TEST_F(full_store, doctor_counts_what_is_used_and_not_what_was) {
  const auto store = small();
  caller c(std::make_shared<local_engine>(store), 1);
  ASSERT_EQ(c.open().what, core::status::ok);
  std::vector<token> held;
  (void)fill(c, "n", held);
  EXPECT_GT(store->data().used().used, size / 10 * 9);
  for (std::size_t i = 0; i < held.size(); ++i) (void)c.leave("n" + std::to_string(i), held[i]);
  EXPECT_LT(store->data().used().used, size / 10);
}

}  // namespace
}  // namespace holdfast::engines::local
