#include "bench/measure.hpp"

#include <holdfast/session.hpp>

#include <memory>
#include <mutex>
#include <thread>

/// What a heartbeat costs a session that holds 100,000 locks, beside one that holds one.

namespace holdfast::bench {

using namespace std::chrono_literals;

namespace {

struct beats : observer {
  void on(const event::beat& b) noexcept override {
    const std::scoped_lock hold(mutex);
    if (b.acknowledged) took.push_back(static_cast<double>(b.took.count()) / 1e3);
  }
  std::vector<double> take() {
    const std::scoped_lock hold(mutex);
    return std::exchange(took, {});
  }
  std::mutex mutex;
  std::vector<double> took;
};

struct loaded {
  std::shared_ptr<beats> seen = std::make_shared<beats>();
  session owner;
  std::vector<lock> held;

  loaded(const std::string& url, int locks)
      : owner(holdfast::open(url, {.ttl = 300ms, .observer = seen}).value()) {
    held.reserve(static_cast<std::size_t>(locks));
    for (int i = 0; i < locks; ++i) {
      held.push_back(owner.try_acquire(lock_name("name " + std::to_string(i))).value());
    }
  }
};

sample heartbeat(const std::string& directory) {
  // In stores of their own: the one must not wait for the other's transaction.
  loaded one("local:" + directory + "/one", 1);
  loaded many("local:" + directory + "/many", 100'000);
  std::this_thread::sleep_for(300ms);
  one.seen->take();
  many.seen->take();
  std::this_thread::sleep_for(3s);
  return {median(many.seen->take()), median(one.seen->take())};
}

}  // namespace

std::vector<measure> heartbeat_rows() {
  return {{"heartbeat, 100,000 locks held", "us", "heartbeat, 1 lock held", bar::ratio_at_most, 1.5,
           0, heartbeat}};
}

}  // namespace holdfast::bench
