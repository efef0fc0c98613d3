#pragma once

#include "io/grpc/grpc_connection.hpp"
#include "io/thread/loop.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// A gRPC client with all that it is told.
namespace holdfast::io::grpc_tests {

using namespace std::chrono_literals;

/// What was told, for one waiting thread.
struct told {
  grpc_outcome::kind what{};
  unsigned status{};
  std::string message;
  std::string text;
};

class events final : public grpc_listener {
 public:
  void up() override {
    change([this] { ++ups_; });
  }
  void down(const error& why) override {
    change([&] { downs_.push_back(why.message()); });
  }
  bool wait_up(int count = 1) {
    std::unique_lock hold(mutex_);
    return changed_.wait_for(hold, 20s, [&] { return ups_ >= count; });
  }
  int ups() {
    const std::lock_guard hold(mutex_);
    return ups_;
  }
  std::string wait_down(std::size_t count = 1) {
    std::unique_lock hold(mutex_);
    if (!changed_.wait_for(hold, 20s, [&] { return downs_.size() >= count; })) return "never down";
    return downs_[count - 1];
  }

 private:
  template <class Change>
  void change(Change c) {
    const std::lock_guard hold(mutex_);
    c();
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  int ups_{};
  std::vector<std::string> downs_;
};

class client {
 public:
  explicit client(grpc_options o)
      : loop_(std::move(loop::start().value())),
        line_(grpc_connection::start(loop_, std::move(o), happened)) {}
  explicit client(const node_address& a, duration silence_max = 300ms, std::int32_t first = 1,
                  duration connect_limit = 2s, std::size_t queued_bytes_max = 8 * 1024 * 1024)
      : client({.address = a,
                .connect_limit = connect_limit,
                .silence_max = silence_max,
                .message_max = 1000,
                .queued_bytes_max = queued_bytes_max,
                .first_stream = first}) {}

  using answer = std::future<told>;
  static told wait(answer a) {
    if (a.wait_for(20s) == std::future_status::ready) return a.get();
    ADD_FAILURE() << "never answered";
    return {};
  }
  answer start(const std::string& text, duration limit) {
    return outcome([this, text, limit](auto done) {
      line_->call({.path = "/a/b", .message = text}, clock::now() + limit, done);
    });
  }
  told call(duration limit = 10s) { return wait(start("ask", limit)); }
  /// How a stream of messages ends.
  answer start_stream(const std::string& text, const std::function<void()>& took) {
    return outcome([this, text, took](auto done) {
      line_->open_stream(
          {.path = "/a/b", .message = text}, false, [took](std::string_view) { took(); }, done);
    });
  }
  told stream() {
    return wait(start_stream("ask", [] {}));
  }
  /// Counts those that were told of their end.
  std::shared_ptr<std::atomic<int>> start_two_that_cancel_each_other() {
    auto told = std::make_shared<std::atomic<int>>();
    loop_->post([this, told] {
      auto ids = std::make_shared<std::array<std::uint64_t, 2>>();
      for (std::size_t mine = 0; mine < 2; ++mine) {
        (*ids)[mine] = line_->open_stream(
            {.path = "/a/b", .message = mine == 0 ? "first" : "ask"}, false,
            [](std::string_view) {},
            [this, told, ids, mine](const grpc_outcome&) {
              ++*told;
              line_->cancel((*ids)[1 - mine]);
            });
      }
    });
    return told;
  }
  void close() { line_->close(); }
  /// On the loop's thread, as a callback does it.
  void call_within(const grpc_connection::on_outcome& done) {
    line_->call({.path = "/a/b", .message = "late"}, clock::now() + 10s, done);
  }

  const std::shared_ptr<events> happened{std::make_shared<events>()};

 private:
  answer outcome(const std::function<void(grpc_connection::on_outcome)>& start) {
    auto promised = std::make_shared<std::promise<told>>();
    auto got = promised->get_future();
    loop_->post([start, promised] {
      start([promised](const grpc_outcome& o) {
        promised->set_value({o.what, o.status, std::string(o.message), std::string(o.text)});
      });
    });
    return got;
  }

  std::shared_ptr<loop> loop_;
  std::unique_ptr<grpc_connection> line_;
};

}  // namespace holdfast::io::grpc_tests
