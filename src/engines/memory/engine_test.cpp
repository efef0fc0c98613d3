#include "engines/memory/engine.hpp"

#include "engines/memory/open.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace holdfast::engines::memory {
namespace {

session_id id_of(std::uint8_t n) {
  session_id id;
  id.bytes[0] = n;
  return id;
}

core::open_reply open(core::engine& e, std::uint8_t n) {
  core::open_reply reply;
  core::session_record draft;
  draft.id = id_of(n);
  draft.ttl = std::chrono::seconds{1};
  e.open({draft}, [&](core::open_reply r) { reply = std::move(r); });
  return reply;
}

core::queue_view enqueue(core::engine& e, std::uint8_t n, const core::open_reply& session) {
  core::queue_view view;
  e.enqueue({.name = lock_name("x"),
             .id = id_of(n),
             .inc = session.at.inc,
             .gate = session.gate,
             .request = 1},
            [&](core::queue_view v) { view = std::move(v); });
  return view;
}

void leave(core::engine& e, std::uint8_t n, const core::open_reply& session, token order) {
  e.leave({.name = lock_name("x"), .id = id_of(n), .inc = session.at.inc, .order = order},
          [](core::leave_reply) {});
}

TEST(memory_engine, a_name_is_shared_by_all_who_open_it_and_by_nobody_else) {
  const auto url = core::store_url::parse("memory:shared");
  const auto other = core::store_url::parse("memory:other");
  const auto a = open_memory(*url);
  const auto b = open_memory(*url);
  const auto c = open_memory(*other);
  EXPECT_EQ(a->engine, b->engine);
  EXPECT_NE(a->engine, c->engine);
  EXPECT_EQ(a->url, "memory:shared");
}

TEST(memory_engine, a_store_is_gone_with_its_last_user) {
  const auto url = core::store_url::parse("memory:gone");
  { open(*open_memory(*url)->engine, 1); }
  core::listing all;
  open_memory(*url)->engine->list([&](core::listing l) { all = std::move(l); });
  EXPECT_TRUE(all.sessions.empty());
}

TEST(memory_engine, an_unknown_query_key_is_refused) {
  const auto opened = open_memory(*core::store_url::parse("memory:x?gruop=a"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), errc::invalid_argument);
}

TEST(memory_engine, a_watch_fires_when_its_target_leaves) {
  const auto e = std::make_shared<memory_engine>();
  const auto a = open(*e, 1);
  const auto b = open(*e, 2);
  const auto first = enqueue(*e, 1, a);
  const auto second = enqueue(*e, 2, b);
  ASSERT_EQ(second.what, core::status::queued);
  int fired = 0;
  const auto handle = e->watch({lock_name("x"), second.mine, second.targets}, [&] { ++fired; });
  EXPECT_EQ(fired, 0);
  leave(*e, 1, a, first.mine);
  EXPECT_EQ(fired, 1);
}

TEST(memory_engine, a_watch_fires_when_the_session_of_its_target_is_closed) {
  const auto e = std::make_shared<memory_engine>();
  const auto a = open(*e, 1);
  const auto b = open(*e, 2);
  enqueue(*e, 1, a);
  const auto second = enqueue(*e, 2, b);
  int fired = 0;
  const auto handle = e->watch({lock_name("x"), second.mine, second.targets}, [&] { ++fired; });
  e->close({id_of(1), a.at.inc}, [](core::reply) {});
  EXPECT_EQ(fired, 1);
}

TEST(memory_engine, a_target_that_left_before_the_watch_was_armed_is_not_missed) {
  const auto e = std::make_shared<memory_engine>();
  const auto a = open(*e, 1);
  const auto b = open(*e, 2);
  const auto first = enqueue(*e, 1, a);
  const auto second = enqueue(*e, 2, b);
  leave(*e, 1, a, first.mine);
  std::promise<std::thread::id> fired;
  const auto handle = e->watch({lock_name("x"), second.mine, second.targets},
                               [&] { fired.set_value(std::this_thread::get_id()); });
  EXPECT_NE(fired.get_future().get(), std::this_thread::get_id());
}

TEST(memory_engine, a_disarmed_watch_is_silent) {
  const auto e = std::make_shared<memory_engine>();
  const auto a = open(*e, 1);
  const auto b = open(*e, 2);
  const auto first = enqueue(*e, 1, a);
  const auto second = enqueue(*e, 2, b);
  int fired = 0;
  auto handle = e->watch({lock_name("x"), second.mine, second.targets}, [&] { ++fired; });
  handle.reset();
  leave(*e, 1, a, first.mine);
  EXPECT_EQ(fired, 0);
}

TEST(memory_engine, a_watch_may_be_disarmed_inside_its_own_notification) {
  const auto e = std::make_shared<memory_engine>();
  const auto a = open(*e, 1);
  const auto b = open(*e, 2);
  const auto first = enqueue(*e, 1, a);
  const auto second = enqueue(*e, 2, b);
  std::unique_ptr<core::watch_handle> handle;
  handle = e->watch({lock_name("x"), second.mine, second.targets}, [&] { handle.reset(); });
  leave(*e, 1, a, first.mine);
  EXPECT_EQ(handle, nullptr);
}

TEST(memory_engine, disarming_waits_for_a_notification_on_another_thread) {
  const auto e = std::make_shared<memory_engine>();
  const auto a = open(*e, 1);
  const auto b = open(*e, 2);
  const auto first = enqueue(*e, 1, a);
  const auto second = enqueue(*e, 2, b);
  std::promise<void> entered;
  std::promise<void> go_on;
  std::atomic<bool> ended{false};
  auto handle = e->watch({lock_name("x"), second.mine, second.targets}, [&] {
    entered.set_value();
    go_on.get_future().wait();
    ended = true;
  });
  std::thread releasing([&] { leave(*e, 1, a, first.mine); });
  entered.get_future().wait();
  std::thread disarming([&] {
    handle.reset();
    EXPECT_TRUE(ended);
  });
  go_on.set_value();
  disarming.join();
  releasing.join();
}

}  // namespace
}  // namespace holdfast::engines::memory
