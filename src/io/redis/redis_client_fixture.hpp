#pragma once

#include "io/redis/redis_connection.hpp"
#include "io/thread/loop.hpp"
#include "wire/resp_writer.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::io {

using namespace std::chrono_literals;

template <class... Parts>
std::string bytes_of(const Parts&... parts) {
  std::string out;
  wire::resp_writer(out).command(parts...);
  return out;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Keeps what comes, for one waiting thread.
class kept_answers final : public redis_receiver {
 public:
  struct answer {
    redis_answer::outcome what{};
    wire::reply reply{};
    std::string why{};
  };

  void answered(std::uint64_t tag, const redis_answer& a) override {
    const std::lock_guard hold(mutex_);
    answer kept{.what = a.what, .reply = {}, .why = {}};
    if (a.reply != nullptr) kept.reply = *a.reply;
    if (a.why != nullptr) kept.why = a.why->message();
    EXPECT_TRUE(answers_.emplace(tag, std::move(kept)).second) << tag << " was answered twice";
    order_.push_back(tag);
    changed_.notify_all();
  }
  void answered_late(std::uint64_t tag, const wire::reply* r, time_point) override {
    const std::lock_guard hold(mutex_);
    EXPECT_TRUE(late_.emplace(tag, r == nullptr ? std::string("ended") : r->text).second);
    changed_.notify_all();
  }

  /// The answer to `tag`; a failure of the test after 20 s.
  answer wait(std::uint64_t tag) {
    std::unique_lock hold(mutex_);
    const bool came = changed_.wait_for(hold, 20s, [&] { return answers_.contains(tag); });
    EXPECT_TRUE(came) << tag << " was never answered";
    return answers_[tag];
  }
  void wait_for_count(std::size_t count) {
    std::unique_lock hold(mutex_);
    const bool came = changed_.wait_for(hold, 20s, [&] { return answers_.size() >= count; });
    EXPECT_TRUE(came) << answers_.size() << " of " << count << " were answered";
  }
  std::string wait_late(std::uint64_t tag) {
    std::unique_lock hold(mutex_);
    EXPECT_TRUE(changed_.wait_for(hold, 20s, [&] { return late_.contains(tag); }));
    return late_[tag];
  }
  std::vector<std::uint64_t> order() {
    const std::lock_guard hold(mutex_);
    return order_;
  }
  bool has(std::uint64_t tag) {
    const std::lock_guard hold(mutex_);
    return answers_.contains(tag);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, answer> answers_;
  std::map<std::uint64_t, std::string> late_;
  std::vector<std::uint64_t> order_;
};

/// Keeps the events of a connection, and refuses what it is to refuse.
class kept_events final : public redis_listener {
 public:
  result<void> check(const redis_facts& f) override {
    const std::lock_guard hold(mutex_);
    facts_ = f;
    if (!refuses_.empty()) return error(errc::unavailable, refuses_);
    return {};
  }
  void up(const redis_facts&) override {
    const std::lock_guard hold(mutex_);
    ++ups_;
    changed_.notify_all();
  }
  void down(const error& why) override {
    const std::lock_guard hold(mutex_);
    downs_.push_back(why.message());
    changed_.notify_all();
  }
  void pushed(const wire::reply& message) override {
    const std::lock_guard hold(mutex_);
    pushes_.push_back(message);
    changed_.notify_all();
  }

  void refuse(std::string why) {
    const std::lock_guard hold(mutex_);
    refuses_ = std::move(why);
  }
  redis_facts facts() {
    const std::lock_guard hold(mutex_);
    return facts_;
  }
  void wait_up(int times = 1) {
    std::unique_lock hold(mutex_);
    const bool came = changed_.wait_for(hold, 20s, [&] { return ups_ >= times; });
    EXPECT_TRUE(came) << (downs_.empty() ? "silence" : downs_.back());
  }
  /// The reason of the n-th time it went down, or did not come up.
  std::string wait_down(std::size_t times = 1) {
    std::unique_lock hold(mutex_);
    EXPECT_TRUE(changed_.wait_for(hold, 20s, [&] { return downs_.size() >= times; }));
    return downs_.size() < times ? std::string() : downs_[times - 1];
  }
  std::vector<wire::reply> wait_pushes(std::size_t count) {
    std::unique_lock hold(mutex_);
    EXPECT_TRUE(changed_.wait_for(hold, 20s, [&] { return pushes_.size() >= count; }));
    return pushes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string refuses_;
  redis_facts facts_;
  int ups_{0};
  std::vector<std::string> downs_;
  std::vector<wire::reply> pushes_;
};

/// A connection with everything around it.
struct redis_client {
  explicit redis_client(redis_options o) : options(std::move(o)) { open(); }
  explicit redis_client(const node_address& to) : redis_client(redis_options{.address = to}) {}

  void open() { connection = redis_connection::start(l, options, events); }

  result<void> send(std::uint64_t tag, const std::string& bytes, duration limit = 20s,
                    bool subscribes = false, bool may_fill = false) {
    return connection->send({.bytes = bytes,
                             .deadline = clock::now() + limit,
                             .receiver = answers,
                             .tag = tag,
                             .subscribes = subscribes,
                             .may_fill = may_fill});
  }
  /// Sends, and waits for the answer.
  kept_answers::answer ask(std::uint64_t tag, const std::string& bytes) {
    const auto sent = send(tag, bytes);
    if (!sent) return {.what = redis_answer::outcome::not_sent, .why = sent.error().message()};
    return answers->wait(tag);
  }
  /// Runs `body` in one turn of the loop, and waits until it has run.
  template <class Body>
  void in_one_turn(Body body) {
    std::mutex mutex;
    std::condition_variable done;
    bool has_run = false;
    l->post([&] {
      body();
      const std::lock_guard hold(mutex);
      has_run = true;
      done.notify_one();
    });
    std::unique_lock hold(mutex);
    done.wait(hold, [&] { return has_run; });
  }

  redis_options options;
  std::shared_ptr<loop> l{*loop::start()};
  std::shared_ptr<kept_answers> answers{std::make_shared<kept_answers>()};
  std::shared_ptr<kept_events> events{std::make_shared<kept_events>()};
  std::unique_ptr<redis_connection> connection;
};

}  // namespace holdfast::io
