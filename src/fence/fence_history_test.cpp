#include "core/rounds_fixture.hpp"
#include "fence/recorder_fixture.hpp"

#include <holdfast/fence.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>

/// Threads that write and read behind one fence, of which some end in the middle: is what they
/// got a history of a fenced register?

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using history::operation;
using tests::recorder;

/// What the fence is in front of.
class storage {
 public:
  void set(std::string value) {
    const std::lock_guard hold(mutex_);
    value_ = std::move(value);
  }
  std::optional<std::string> get() const {
    const std::lock_guard hold(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<std::string> value_;
};

class user {
 public:
  user(fence& gate, storage& behind, recorder& says, unsigned seed)
      : gate_(gate), behind_(behind), says_(says), random_(seed) {}

  void run(std::atomic<std::uint64_t>& newest) {
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t known = below(3) == 0 ? ++newest : newest.load();
      const std::uint64_t token = std::max<std::uint64_t>(known - below(3), 1);
      const auto kind = below(6);
      if (kind == 0) {
        raise(token);
      } else if (kind == 1) {
        const auto begun = says_.begin();
        says_.add(operation::read, 0, begun, "ok", behind_.get());
      } else {
        use(kind < 4 ? operation::write : operation::read, token,
            kind == 5 ? mode::shared() : mode::exclusive(), std::to_string(random_()));
      }
    }
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  enter_options patience() { return {.wait = below(3) == 0 ? duration::zero() : 1s, .stop = {}}; }
  static fencing_token numbered(std::uint64_t value) {
    return {{store_identity("local/0f"), lock_name("nightly")}, token{value}};
  }

  void raise(std::uint64_t token) {
    const auto begun = says_.begin();
    const auto done = gate_.raise(numbered(token), patience());
    says_.add(operation::raise, token, begun, done ? "ok" : name_of(done.error().code()));
  }

  void use(operation what, std::uint64_t token, mode how, std::string value) {
    const auto begun = says_.begin();
    std::optional<std::string> seen;
    const char* outcome = "pending";
    if (auto in = gate_.enter(numbered(token), how, patience()); !in) {
      outcome = name_of(in.error().code());
    } else if (below(4) != 0) {  // Else it is killed here.
      std::this_thread::yield();
      const auto done = in->commit([&] {
        if (what == operation::write) behind_.set(value);
        seen = behind_.get();
      });
      outcome = done ? "ok" : name_of(done.error().code());
    }
    if (what == operation::write) seen = value;
    if (what == operation::read && outcome != std::string_view("ok")) seen.reset();
    auto& line = says_.add(what, token, begun, outcome, seen);
    if (what == operation::read) line.mode = how;
  }

  fence& gate_;
  storage& behind_;
  recorder& says_;
  std::mt19937 random_;
};

class fence_history : public testing::TestWithParam<older_passes> {};

TEST_P(fence_history, of_threads_of_which_some_are_killed_is_linearizable) {
  const int games = core::rounds(40, 2000);
  for (int game = 0; game < games && !HasFailure(); ++game) {
    fence gate(GetParam());
    storage behind;
    std::atomic<std::uint64_t> newest{1};
    std::atomic<std::int64_t> clock{};
    std::vector<recorder> says;
    for (int t = 0; t < 4; ++t) says.emplace_back(clock, "t" + std::to_string(t));
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < says.size(); ++t) {
      threads.emplace_back([&, t] {
        user(gate, behind, says[t], static_cast<unsigned>(game * 4) + static_cast<unsigned>(t))
            .run(newest);
      });
    }
    threads.clear();
    const auto all = tests::together(says);
    const auto judged = history::judge(all, {.as = history::model::fenced_register});
    ASSERT_EQ(judged.size(), 1U);
    EXPECT_EQ(judged[0].found, history::verdict::linearizable) << game << ": " << judged[0].why;
    for (const std::size_t at : judged[0].conflict) std::printf("%s", print(all[at]).c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(passes, fence_history,
                         testing::Values(older_passes::wait, older_passes::invalidate));

}  // namespace
}  // namespace holdfast
