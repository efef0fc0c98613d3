#include "io/net/name_watch.hpp"

#include "io/net/stream_socket.hpp"
#include "io/thread/latch.hpp"
#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;
using addresses = name_watch::addresses;

addresses numbers(const std::vector<std::string>& hosts) {
  addresses all;
  for (const auto& host : hosts) {
    look_up({.host = host, .port = 6379, .path = {}},
            [&](const result<addresses>& found) { all.push_back(found->front()); });
  }
  return all;
}

/// What a resolver answers, one after the other; the last one for ever. On a thread of its own, as
/// the system's resolver does.
class resolver {
 public:
  explicit resolver(std::deque<result<addresses>> answers) : answers_(std::move(answers)) {}

  name_watch::question question() {
    return [this](auto found) {
      std::thread([this, found = std::move(found)] { found(next()); }).detach();
    };
  }
  int asked() const { return asked_; }

 private:
  result<addresses> next() {
    const std::lock_guard hold(mutex_);
    auto answer = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    ++asked_;
    return answer;
  }

  std::mutex mutex_;
  std::deque<result<addresses>> answers_;
  std::atomic<int> asked_{0};
};

struct watched {
  explicit watched(resolver& names, const std::string& address, duration every = 1ms) {
    l->post([&, in_use = numbers({address}).front(), every] {
      watch = name_watch::start(l, {.name = "node", .in_use = in_use, .every = every},
                                names.question(), [this](const error& why) {
                                  told = why;
                                  done.open();
                                });
    });
  }
  ~watched() {
    latch gone;
    l->post([&] {
      watch.reset();
      gone.open();
    });
    gone.wait();
  }

  std::optional<error> told;
  latch done;
  std::shared_ptr<loop> l{*loop::start()};
  std::shared_ptr<name_watch> watch;
};

TEST(name_watch, tells_when_a_name_leads_elsewhere) {
  resolver names({numbers({"127.0.0.1", "::1"}), numbers({"::1", "127.0.0.1"}),
                  numbers({"127.0.0.2", "::1"})});
  watched w(names, "127.0.0.1");
  w.done.wait();
  EXPECT_EQ(w.told->code(), errc::unavailable);
  EXPECT_EQ(w.told->message(),
            "the name 'node' leads to 127.0.0.2 now, and no longer to 127.0.0.1");
  EXPECT_EQ(names.asked(), 4) << "it is asked for once more";
}

TEST(name_watch, bears_that_an_address_is_missing_now_and_then) {
  resolver names({numbers({"127.0.0.2"}), numbers({"127.0.0.1"}), numbers({"127.0.0.3"}),
                  numbers({"127.0.0.1"}), numbers({"127.0.0.4"})});
  watched w(names, "127.0.0.1");
  w.done.wait();
  EXPECT_EQ(w.told->message(),
            "the name 'node' leads to 127.0.0.4 now, and no longer to 127.0.0.1");
}

TEST(name_watch, leaves_a_connection_while_the_name_cannot_be_looked_up) {
  resolver names({error(errc::unavailable, "no DNS"), addresses{}, numbers({"127.0.0.1"}),
                  numbers({"127.0.0.1"}), error(errc::unavailable, "no DNS"), numbers({"::2"})});
  watched w(names, "::1");
  w.done.wait();
  EXPECT_EQ(w.told->message(), "the name 'node' leads to ::2 now, and no longer to ::1");
  EXPECT_EQ(names.asked(), 7) << "half of the resolver's answer is none";
}

TEST(name_watch, asks_no_earlier_than_it_was_told_to) {
  resolver names({numbers({"127.0.0.2"})});
  const auto began = clock::now();
  watched w(names, "127.0.0.1", 30ms);
  w.done.wait();
  EXPECT_GE(clock::now() - began, 30ms);
}

TEST(name_watch, bears_an_answer_that_comes_when_its_loop_is_gone) {
  std::function<void(result<addresses>)> answer;
  latch asked;
  auto l = *loop::start();
  std::shared_ptr<name_watch> watch;
  l->post([&] {
    watch = name_watch::start(
        l, {.name = "node", .in_use = numbers({"127.0.0.1"}).front(), .every = 1ms},
        [&](auto found) {
          answer = std::move(found);
          asked.open();
        },
        [](const error&) { FAIL(); });
  });
  asked.wait();
  l.reset();
  answer(numbers({"127.0.0.2"}));
}

}  // namespace
}  // namespace holdfast::io
