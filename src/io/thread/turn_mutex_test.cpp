#include "io/thread/turn_mutex.hpp"

#include "io/thread/latch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::io {
namespace {

struct turn_mutex_test : testing::Test {
  /// Runs `f` on a turn of the loop.
  template <class F>
  void on_a_turn(F f) {
    latch done;
    l->post([&] {
      f();
      done.open();
    });
    done.wait();
  }
  std::shared_ptr<loop> l = loop::start().value();
};

TEST_F(turn_mutex_test, made_on_a_turn_it_keeps_all_others_out) {
  std::unique_ptr<turn_mutex> m;
  on_a_turn([&] { m = std::make_unique<turn_mutex>(*l); });
  EXPECT_TRUE(m->keeps_out());
  on_a_turn([&] {
    EXPECT_FALSE(m->keeps_out());
    const std::lock_guard hold(*m);
  });
}

TEST_F(turn_mutex_test, made_elsewhere_it_is_a_mutex_for_everybody) {
  turn_mutex m(*l);
  EXPECT_FALSE(m.keeps_out());
  int count = 0;
  const auto add = [&] {
    for (int i = 0; i < 1'000; ++i) {
      const std::lock_guard hold(m);
      ++count;
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) all.emplace_back(add);
  on_a_turn(add);
  for (auto& t : all) t.join();
  EXPECT_EQ(count, 4'000);
}

}  // namespace
}  // namespace holdfast::io
