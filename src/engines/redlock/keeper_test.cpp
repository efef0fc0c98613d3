#include "engines/redlock/keeper.hpp"

#include "core/store_url.hpp"
#include "engines/redlock/settings.hpp"
#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace holdfast::engines::redlock {
namespace {

/// On nodes that nobody answers for.
std::shared_ptr<keeper> without_records() {
  const auto nodes = std::make_shared<cluster>(
      *read_settings(*core::store_url::parse("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")),
      *io::loop::start());
  core::session_record draft;
  draft.ttl = std::chrono::seconds{5};
  return std::make_shared<keeper>(nodes, std::make_shared<waiters>(nodes), std::move(draft));
}

/// Whether `call`, which gets what it is to call back, lets that use the keeper. It runs on a
/// thread of its own, which is left to itself if it hangs.
template <class Call>
bool calls_back_without_the_mutex(Call call) {
  struct outcome {
    std::shared_ptr<keeper> k{without_records()};
    std::atomic<bool> used{};
  };
  const auto seen = std::make_shared<outcome>();
  std::thread caller([seen, call] {
    call(*seen->k, [seen] {
      seen->k->is_used_up(1);
      seen->used = true;
    });
  });
  for (int n = 0; n < 2'000 && !seen->used; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  const bool used = seen->used;
  if (used) {
    caller.join();
  } else {
    caller.detach();
  }
  return used;
}

TEST(redlock_keeper, says_that_the_session_is_gone_without_its_mutex) {
  EXPECT_TRUE(calls_back_without_the_mutex([](keeper& k, auto use) {
    core::enqueue_request r;
    r.name = lock_name("a");
    r.request = 1;
    k.enqueue(r, [use](core::queue_view v) {
      EXPECT_EQ(v.what, core::status::gone);
      use();
    });
  }));
  EXPECT_TRUE(calls_back_without_the_mutex([](keeper& k, auto use) {
    k.beat(1, [use](const core::beat_reply& r) {
      EXPECT_EQ(r.what, core::status::gone);
      use();
    });
  }));
}

}  // namespace
}  // namespace holdfast::engines::redlock
