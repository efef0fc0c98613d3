// Giving a lock back without waiting for the answer.
#include "client/leased_engine_fixture.hpp"

#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::code;
using client::testing::eventually;

/// Its answers to a leave come by a loop's thread, as those of a server do.
class distant_engine final : public client::testing::wrapped_engine {
 public:
  distant_engine(std::shared_ptr<core::engine> to, std::shared_ptr<io::loop> l)
      : wrapped_engine(std::move(to)), loop_(std::move(l)) {}
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> d) override {
    loop_->post([this, r, d] { wrapped_engine::enqueue(r, d); });
  }
  void leave(const core::leave_request& r, core::on<core::leave_reply> d) override {
    if (leaves_unanswered) return d({{.what = core::status::unknown}});
    if (leaves_together > 0) return keep(r, std::move(d));
    if (leaves_at_once) return wrapped_engine::leave(r, std::move(d));
    loop_->post([this, r, d] { wrapped_engine::leave(r, d); });
  }

  /// Carries out what was kept, and what comes.
  void go_on() {
    leaves_together = 0;
    std::vector<std::function<void()>> those;
    {
      const std::lock_guard hold(mutex_);
      those.swap(kept_);
    }
    for (auto& one : those) loop_->post(std::move(one));
  }
  std::size_t kept() {
    const std::lock_guard hold(mutex_);
    return kept_.size();
  }

  std::atomic<bool> leaves_at_once{};
  std::atomic<bool> leaves_unanswered{};
  std::atomic<std::size_t> leaves_together{};  ///< None is answered before so many have come.

 private:
  void keep(const core::leave_request& r, core::on<core::leave_reply> d) {
    {
      const std::lock_guard hold(mutex_);
      kept_.emplace_back([this, r, d = std::move(d)] { wrapped_engine::leave(r, d); });
      if (kept_.size() < leaves_together) return;
    }
    go_on();
  }

  std::mutex mutex_;
  std::vector<std::function<void()>> kept_;
  const std::shared_ptr<io::loop> loop_;
};

struct release : ::testing::Test {
  release() {
    static std::atomic<int> n{};
    auto opened = client::testing::memory("release_" + std::to_string(++n));
    opened.loop = *io::loop::start();
    engine_ = std::make_shared<distant_engine>(opened.engine, opened.loop);
    opened.engine = engine_;
    opened.url += "-distant";
    store_ = client::store_core::on(opened, 30s, 1h);
    auto core = client::session_core::open(store_, {});
    session_.emplace(client::session_core::make_session(*core));
  }
  session& s() { return *session_; }

  std::shared_ptr<distant_engine> engine_;
  std::shared_ptr<client::store_core> store_;
  std::optional<session> session_;
};

/// What a program has for one job, with the lock that it runs under.
struct job {
  std::optional<lock> under;
  std::promise<bool> over;
};

TEST_F(release, may_end_the_lock_that_is_given_back_in_its_own_callback) {
  for (const bool at_once : {true, false}) {
    engine_->leaves_at_once = at_once;
    auto one = std::make_unique<job>();
    one->under.emplace(s().acquire(lock_name("x")).value());
    auto over = one->over.get_future();
    lock& under = *one->under;
    std::move(under).release([one = std::move(one)](result<void> r) mutable {
      one->over.set_value(r.has_value());
      one.reset();
    });
    EXPECT_TRUE(over.get());
  }
}

/// Whoever asks a lock that was given back must not go on beside the next holder.
void expect_released(const lock& l) {
  EXPECT_EQ(code(l.check()), errc::lost);
  EXPECT_EQ(code(l.check(1s)), errc::lost);
  EXPECT_EQ(l.remaining(), 0s);
  EXPECT_EQ(l.check().error().message(), "the lock x was released");
  EXPECT_EQ(l.name(), lock_name("x"));
  EXPECT_NE(l.token(), token{});
}

TEST_F(release, leaves_a_lock_whose_checks_say_lost) {
  auto other = client::session_core::make_session(*client::session_core::open(store_, {}));
  auto l = s().acquire(lock_name("x")).value();
  EXPECT_TRUE(std::move(l).release());
  auto next = other.try_acquire(lock_name("x"));
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->check());
  expect_released(l);
  EXPECT_EQ(code(std::move(l).release()), errc::lost);
  EXPECT_TRUE(next->check());
  ASSERT_TRUE(s().close());
  expect_released(l);
}

TEST_F(release, without_an_answer_leaves_a_lock_whose_checks_say_lost) {
  for (const bool waited : {true, false}) {
    // The one before is still about to leave.
    auto mine = client::session_core::make_session(*client::session_core::open(store_, {}));
    auto l = mine.acquire(lock_name("x"), {.wait = 30s}).value();
    engine_->leaves_unanswered = true;
    if (waited) {
      EXPECT_EQ(code(std::move(l).release()), errc::outcome_unknown);
    } else {
      std::move(l).release([](result<void> r) { EXPECT_EQ(code(r), errc::outcome_unknown); });
    }
    expect_released(l);
    engine_->leaves_unanswered = false;
  }
}

TEST_F(release, keeps_nothing_of_what_on_lost_was_given) {
  for (const bool waited : {true, false}) {
    auto l = s().acquire(lock_name("x"), {.wait = 30s}).value();
    auto used = std::make_shared<int>();
    l.on_lost([used](const error&) { ADD_FAILURE() << "it was released"; });
    if (waited) {
      EXPECT_TRUE(std::move(l).release());
    } else {
      std::move(l).release([](result<void>) {});
    }
    EXPECT_EQ(used.use_count(), 1);
    l.on_lost([used](const error&) { ADD_FAILURE() << "it was released"; });
    EXPECT_EQ(used.use_count(), 1);
  }
}

TEST_F(release, tells_the_callback_when_the_name_is_free) {
  auto l = s().acquire(lock_name("x"));
  ASSERT_TRUE(l);
  std::latch ended(1);
  std::move(*l).release([&](result<void> r) {
    EXPECT_TRUE(r);
    ended.count_down();
  });
  ended.wait();
  EXPECT_TRUE(s().try_acquire(lock_name("x")));
}

TEST_F(release, runs_in_the_completion_of_an_acquire) {
  std::latch ended(1);
  s().acquire(lock_name("x"), {}, [&](result<lock> l) {
    std::move(l.value()).release([&](result<void> r) {
      EXPECT_TRUE(r);
      ended.count_down();
    });
  });
  ended.wait();
}

TEST_F(release, in_a_completion_waits_for_nothing) {
  std::latch ended(1);
  s().acquire(lock_name("x"), {}, [&](result<lock> l) {
    // The completion of a call that ended at once runs on the caller's thread, which may wait.
    const auto r = std::move(l.value()).release();
    EXPECT_TRUE(r || r.error() == errc::outcome_unknown);
    ended.count_down();
  });
  ended.wait();
  EXPECT_TRUE(eventually([&] { return s().try_acquire(lock_name("x")).has_value(); }));
}

TEST_F(release, by_a_destructor_in_a_completion_waits_for_nothing) {
  std::latch ended(1);
  s().acquire(lock_name("x"), {}, [&](result<lock> l) {
    EXPECT_TRUE(l);
    ended.count_down();
  });
  ended.wait();
  EXPECT_TRUE(eventually([&] { return s().try_acquire(lock_name("x")).has_value(); }));
}

TEST_F(release, in_a_completion_runs_no_other_completion_inside) {
  auto other = client::session_core::make_session(*client::session_core::open(store_, {}));
  std::atomic<std::thread::id> inside{};
  std::latch ended(2);
  other.acquire(lock_name("x"), {}, [&](result<lock> x) {
    ASSERT_TRUE(x);
    s().acquire(lock_name("x"), {.wait = 30s}, [&](result<lock> next) {
      EXPECT_TRUE(next);
      EXPECT_NE(inside.load(), std::this_thread::get_id());
      ended.count_down();
    });
    // In a later turn of the loop, when that one waits.
    other.acquire(lock_name("y"), {}, [&, mine = std::move(*x)](result<lock>) mutable {
      engine_->leaves_at_once = true;
      inside = std::this_thread::get_id();
      std::move(mine).release([](result<void>) {});
      inside = std::thread::id();
      ended.count_down();
    });
  });
  ended.wait();
}

TEST_F(release, of_several_that_were_to_be_acquired_with_one_that_is_busy_is_one_round_trip) {
  auto other = client::session_core::make_session(*client::session_core::open(store_, {}));
  const auto in_the_way = other.acquire(lock_name("d"));
  ASSERT_TRUE(in_the_way);
  engine_->leaves_together = 3;
  const std::vector<lock_name> names{lock_name("a"), lock_name("b"), lock_name("c"),
                                     lock_name("d")};
  auto asking = std::async(std::launch::async, [&] { return code(s().acquire_all(names)); });
  const bool at_once = asking.wait_for(30s) == std::future_status::ready;
  EXPECT_TRUE(at_once) << engine_->kept() << " are given back, and the others wait for that";
  engine_->go_on();
  EXPECT_EQ(asking.get(), errc::busy);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(other.try_acquire(lock_name(name))) << name;
}

TEST_F(release, with_a_callback_waits_for_nothing_where_the_lock_was_lost_alone) {
  auto opened = store_->opened();
  const auto leased = std::make_shared<client::testing::leased_engine>(engine_);
  opened.engine = leased;
  opened.url += "-leased";
  const auto store = client::store_core::on(opened, 30s, 1h);
  auto mine = client::session_core::make_session(*client::session_core::open(store, {}));
  auto l = mine.acquire(lock_name("x")).value();
  leased->newest().lose(core::status::gone, "somebody deleted it");
  std::promise<void> goes_on;
  std::atomic<bool> went_on{};
  opened.loop->post([&, until = goes_on.get_future().share()] {
    until.wait_for(5s);
    went_on = true;
  });
  std::optional<errc> why;
  std::move(l).release([&](result<void> r) { why = code(r); });
  EXPECT_FALSE(went_on) << "it has waited for the answer to its leave";
  EXPECT_EQ(why, errc::lost);
  goes_on.set_value();
  EXPECT_TRUE(eventually([&] { return mine.try_acquire(lock_name("x")).has_value(); }));
}

TEST_F(release, tells_the_callback_that_the_lock_was_lost_before) {
  auto l = s().acquire(lock_name("x"));
  ASSERT_TRUE(l);
  ASSERT_TRUE(s().close());
  std::optional<errc> why;
  std::move(*l).release([&](result<void> r) { why = code(r); });
  EXPECT_EQ(why, errc::lost);
}

}  // namespace
}  // namespace holdfast
