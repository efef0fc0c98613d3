#include "engines/zookeeper/name_book.hpp"

#include "io/net/slow_resolver_fixture.hpp"
#include "io/thread/loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

namespace holdfast::engines::zookeeper {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

io::node_address host(const std::string& name) { return {.host = name, .port = 2181, .path = {}}; }

/// A name_book on a loop of its own.
class book {
 public:
  explicit book(std::vector<io::node_address> servers) {
    on_loop([&] {
      made_ = std::make_shared<name_book>(std::move(servers), loop_, [this](bool complete) {
        const std::lock_guard hold(mutex_);
        told_.push_back(complete);
        changed_.notify_all();
      });
      return true;
    });
  }
  ~book() {
    on_loop([this] {
      made_.reset();
      return true;
    });
  }

  void look_up() {
    on_loop([this] {
      made_->look_up();
      return true;
    });
  }
  /// What it has told, once that is so much.
  std::vector<bool> told(std::size_t times) {
    std::unique_lock hold(mutex_);
    changed_.wait_for(hold, 30s, [&] { return told_.size() >= times; });
    return told_;
  }
  std::vector<std::string> addresses() {
    return on_loop([this] {
      std::vector<std::string> all;
      for (const auto& a : made_->addresses()) all.push_back(io::text_of(a));
      return all;
    });
  }
  std::string trouble() {
    return on_loop([this] { return made_->trouble(); });
  }
  bool waits() {
    return on_loop([this] { return made_->waits(); });
  }

 private:
  template <class F>
  auto on_loop(F f) -> decltype(f()) {
    std::promise<decltype(f())> done;
    loop_->post([&] { done.set_value(f()); });
    return done.get_future().get();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> told_;  // Under the mutex.
  std::shared_ptr<io::loop> loop_{*io::loop::start()};
  std::shared_ptr<name_book> made_;
};

TEST(name_book, numbers_are_told_at_once_in_the_order_of_the_servers) {
  book b({host("127.0.0.3"), host("127.0.0.1"), host("::1")});
  b.look_up();
  EXPECT_THAT(b.told(1), ElementsAre(true));
  EXPECT_THAT(b.addresses(), ElementsAre("127.0.0.3", "127.0.0.1", "::1"));
  EXPECT_EQ(b.trouble(), "");
}

TEST(name_book, a_name_that_is_answered_late_keeps_nobody_and_is_told_then) {
  io::slow_resolver names;
  book b({host("late.slow"), host("127.0.0.2")});
  const auto began = clock::now();
  b.look_up();
  EXPECT_THAT(b.told(1), ElementsAre(false));
  EXPECT_GE(clock::now() - began, 1s);
  EXPECT_THAT(b.addresses(), ElementsAre("127.0.0.2"));
  EXPECT_TRUE(b.waits());
  EXPECT_THAT(b.trouble(), HasSubstr("the name 'late.slow' leads"));
  names.answer();
  EXPECT_THAT(b.told(2), ElementsAre(false, false)) << "not in time";
  EXPECT_THAT(b.addresses(), ElementsAre("127.0.0.1", "127.0.0.2"));
  EXPECT_FALSE(b.waits());
  EXPECT_EQ(b.trouble(), "");
}

TEST(name_book, a_name_that_is_not_answered_any_more_keeps_its_last_addresses) {
  book b({host("gone.slow"), host("127.0.0.2")});
  {
    io::slow_resolver names;
    names.answer();
    const auto began = clock::now();
    b.look_up();
    EXPECT_THAT(b.told(1), ElementsAre(true));
    // For twice as long as an answer took it is given to whoever asks.
    std::this_thread::sleep_for(2 * (clock::now() - began));
  }
  io::slow_resolver names;
  b.look_up();
  EXPECT_THAT(b.told(2), ElementsAre(true, false));
  EXPECT_THAT(b.addresses(), ElementsAre("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(b.waits());
}

TEST(name_book, a_server_without_an_address_is_in_nobody_s_way) {
  // Longer than a name may be.
  book b({host(std::string(300, 'x')), host("127.0.0.2")});
  b.look_up();
  EXPECT_THAT(b.told(1), ElementsAre(true)) << "that is an answer";
  EXPECT_THAT(b.addresses(), ElementsAre("127.0.0.2"));
  EXPECT_THAT(b.trouble(), HasSubstr("has no address"));
}

TEST(name_book, who_asks_meanwhile_begins_nothing_new) {
  io::slow_resolver names;
  book b({host("once.slow")});
  b.look_up();
  b.look_up();
  names.answer();
  EXPECT_THAT(b.told(1), ElementsAre(true));
  std::this_thread::sleep_for(50ms);
  EXPECT_THAT(b.told(1), ElementsAre(true)) << "a second answer would be told, too";
}

}  // namespace
}  // namespace holdfast::engines::zookeeper
