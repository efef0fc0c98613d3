// Which thread serves the wake word of an embedded store while its waiters lend their threads for
// it.
#include "client/engines_fixture.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"
#include "engines/local/open.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using client::testing::eventually;

/// Refuses to wait for one name while it has to, and counts.
class refusing_engine final : public client::testing::wrapped_engine {
 public:
  explicit refusing_engine(std::shared_ptr<core::engine> to) : wrapped_engine(to), to_(to) {}
  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> d) override {
    if (refuses && r.name == lock_name("b")) {
      core::queue_view none;
      none.what = core::status::unavailable;
      return d(none);
    }
    wrapped_engine::enqueue(r, std::move(d));
  }
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> n) override {
    auto made = wrapped_engine::watch(r, std::move(n));
    ++watches;
    return made;
  }
  bool lend(core::parking& until) override {
    ++lent;
    const bool done = to_->lend(until);
    if (!done) ++refused;
    return done;
  }

  std::atomic<bool> refuses{};
  std::atomic<int> watches{};
  std::atomic<int> lent{};
  std::atomic<int> refused{};

 private:
  const std::shared_ptr<core::engine> to_;
};

struct lent_place : ::testing::Test {
  lent_place() {
    ::setenv("XDG_STATE_HOME", (directory_.path() + "/state").c_str(), 1);
    auto opened = engines::local::open_local(
        *core::store_url::parse("local:" + directory_.path() + "/store"), missing::create);
    if (!opened) {
      ADD_FAILURE() << opened.error().message();
      return;
    }
    engine_ = std::make_shared<refusing_engine>(opened->engine);
    opened->engine = engine_;
    store_ = client::store_core::on(*opened, 30s, 1h);
  }
  ~lent_place() override { ::unsetenv("XDG_STATE_HOME"); }
  session open_session() {
    auto core = client::session_core::open(store_, {});
    if (!core) ADD_FAILURE() << core.error().message();
    return client::session_core::make_session(*core);
  }

  const tests::temporary_directory directory_;
  std::shared_ptr<refusing_engine> engine_;
  std::shared_ptr<client::store_core> store_;
};

TEST_F(lent_place, is_served_for_a_waiter_that_could_not_wait_at_first) {
  auto s = open_session();
  auto first = open_session();
  auto later = open_session();
  auto a = s.acquire(lock_name("a"));
  auto b = s.acquire(lock_name("b"));
  ASSERT_TRUE(a && b);
  std::thread has_the_place([&] { EXPECT_TRUE(first.acquire(lock_name("a"), {.wait = 60s})); });
  EXPECT_TRUE(eventually([&] { return engine_->lent == 1; }));
  // It is about to take the place.
  std::this_thread::sleep_for(100ms);
  engine_->refuses = true;
  time_point granted;
  std::thread has_none([&] {
    EXPECT_TRUE(later.acquire(lock_name("b"), {.wait = 60s}));
    granted = clock::now();
  });
  EXPECT_TRUE(eventually([&] { return engine_->refused == 1; }));
  EXPECT_TRUE(std::move(*a).release());
  has_the_place.join();
  const int before = engine_->watches;
  engine_->refuses = false;
  EXPECT_TRUE(eventually([&] { return engine_->watches > before; }));
  const auto began = clock::now();
  EXPECT_TRUE(std::move(*b).release());
  has_none.join();
  EXPECT_LT(granted - began, 2500ms) << "it looks by itself only every four seconds";
}

}  // namespace
}  // namespace holdfast
