#include "tests/redlock/five_nodes.hpp"
#include "tests/succeeded.hpp"

#include <holdfast/store.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>

/// Answers that came together are told one after the other: what a completion asks for leaves in
/// the order in which it is asked for, whatever else is still to be told.

namespace holdfast::redlock_tests {
namespace {

constexpr auto long_enough = 20s;
constexpr const char* without_tokens = "ttl=20s&tokens=off&assume_fresh=yes";

class redlock_among_answers : public testing::Test {
 protected:
  redlock_among_answers() { nodes.init(); }
  /// Of somebody else, at the last two of three nodes.
  void take(const std::string& name) {
    for (std::size_t i = 1; i < 3; ++i) nodes[i].command({"SET", name, "theirs", "PX", "600000"});
  }
  template <class T>
  static bool comes(std::future<T>& f) {
    return f.wait_for(long_enough) == std::future_status::ready;
  }
  five_nodes nodes{3};
};

TEST_F(redlock_among_answers, an_acquire_leaves_no_key_when_its_session_goes_at_once) {
  take("taken");
  for (int n = 0; n < 12; ++n) {
    const lock_name name("b" + std::to_string(n));
    auto s = std::make_unique<session>(nodes.open(without_tokens));
    std::promise<void> told;
    std::promise<void> over;
    auto gone = told.get_future();
    auto ended = over.get_future();
    s->acquire(lock_name("taken"), {}, [&](const result<lock>&) {
      s->acquire(name, {}, [&](const result<lock>&) { over.set_value(); });
      s.reset();
      told.set_value();
    });
    ASSERT_TRUE(comes(gone));
    ASSERT_TRUE(comes(ended));
    EXPECT_TRUE(nodes.comes_to(name.str(), 0, 5s)) << name.str() << " stays for its ttl";
  }
}

TEST_F(redlock_among_answers, keys_of_failed_tries_go_though_another_thread_ends_the_store) {
  constexpr int count = 300;
  const auto name_of = [](int i) { return "k" + std::to_string(i); };
  for (int i = 0; i < count; ++i) take(name_of(i));
  for (int round = 0; round < 10; ++round) {
    auto s = std::make_unique<session>(nodes.open(without_tokens));
    std::atomic<int> told{0};
    std::promise<void> all;
    auto over = all.get_future();
    // From one completion, so that they leave together and are answered together.
    s->acquire(lock_name("first"), {}, [&](const result<lock>&) {
      for (int i = 0; i < count; ++i) {
        s->acquire(lock_name(name_of(i)), {}, [&](const result<lock>& l) {
          EXPECT_FALSE(l);
          if (++told == count) all.set_value();
        });
      }
    });
    ASSERT_TRUE(comes(over));
    s.reset();
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(nodes.comes_to(name_of(i), 2, 5s)) << name_of(i) << " stays for its ttl";
    }
  }
}

TEST_F(redlock_among_answers, a_release_is_told_before_the_next_acquire_of_its_lock) {
  auto of = store::open(nodes.url(without_tokens)).value();
  session first = of.open_session().value();
  session second = of.open_session().value();
  for (int n = 0; n < 20; ++n) {
    const lock_name name("d" + std::to_string(n));
    std::string told;
    std::promise<void> both;
    auto done = both.get_future();
    const auto tell = [&](char what) {
      told += what;
      if (told.size() == 2) both.set_value();
    };
    first.acquire(name, {}, [&](result<lock> l) {
      std::move(*l).release([&](const result<void>&) { tell('r'); });
      second.acquire(name, {}, [&](const result<lock>& next) {
        EXPECT_TRUE(succeeded(next));
        tell('a');
      });
    });
    ASSERT_TRUE(comes(done));
    EXPECT_EQ(told, "ra");
  }
}

TEST_F(redlock_among_answers, what_another_thread_asks_for_is_behind_a_release) {
  auto of = store::open(nodes.url(without_tokens)).value();
  session first = of.open_session().value();
  session second = of.open_session().value();
  for (int n = 0; n < 20; ++n) {
    const lock_name name("e" + std::to_string(n));
    std::promise<void> begun;
    std::promise<void> tried;
    std::promise<void> over;
    auto may_try = begun.get_future();
    auto go_on = tried.get_future();
    auto released = over.get_future();
    first.acquire(name, {}, [&](result<lock> l) {
      std::move(*l).release([&](const result<void>&) { over.set_value(); });
      begun.set_value();
      // The loop stands still meanwhile, as with any completion that takes its time.
      go_on.wait_for(5ms);
    });
    ASSERT_TRUE(comes(may_try));
    EXPECT_TRUE(succeeded(second.try_acquire(name)));
    tried.set_value();
    ASSERT_TRUE(comes(released));
  }
}

}  // namespace
}  // namespace holdfast::redlock_tests
