#pragma once

#include "client/engines_fixture.hpp"
#include "client/outcome_fixture.hpp"
#include "client/session_core.hpp"
#include "core/lease.hpp"
#include "core/replies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

namespace holdfast::client::testing {

/// The memory engine as Redlock shows itself: every lock has a lease of its own, entries have no
/// order, and a waiter sees nobody ahead.
class leased_engine final : public wrapped_engine {
 public:
  explicit leased_engine(std::shared_ptr<core::engine> to) : wrapped_engine(std::move(to)) {}

  void enqueue(const core::enqueue_request& r, core::on<core::queue_view> d) override {
    if (r.name.str().starts_with("holdfast:")) {
      return refuse(d, core::status::invalid, "the prefix holdfast: is the engine's own");
    }
    if (r.how != mode::exclusive()) {
      return refuse(d, core::status::unsupported, "this engine has exclusive locks only");
    }
    if (closed.load()) return refuse(d, core::status::unavailable, "no majority answers");
    wrapped_engine::enqueue(r, [this, r, d](core::queue_view v) {
      if (v.what == core::status::ok || v.what == core::status::queued) {
        const std::lock_guard hold(mutex_);
        if (!first) first = r.listener;
        asked_[r.request] = {r, v.mine, v.targets, nullptr};
      }
      d(as_own(std::move(v), r.request));
    });
  }
  void confirm(const core::confirm_request& r, core::on<core::queue_view> d) override {
    if (blind.load()) return refuse(d, core::status::unavailable, "no majority answers");
    auto asked = r;
    asked.order = known(r.request).order;
    wrapped_engine::confirm(asked, [this, r, d](core::queue_view v) {
      {
        const std::lock_guard hold(mutex_);
        asked_[r.request].targets = v.targets;
      }
      d(as_own(std::move(v), r.request));
    });
  }
  std::unique_ptr<core::watch_handle> watch(const core::watch_request& r,
                                            std::function<void()> n) override {
    const auto of = known(r.request);
    EXPECT_EQ(of.request.id, r.id);
    auto asked = r;
    asked.mine = of.order;
    asked.targets = of.targets;
    return wrapped_engine::watch(asked, std::move(n));
  }
  void leave(const core::leave_request& r, core::on<core::leave_reply> d) override {
    ++leaves;
    if (r.move_gate) ++gates_moved;
    if (known(r.request).own && !known(r.request).own->is_lost()) ++leaves_of_live;
    EXPECT_EQ(r.order, token{});
    wrapped_engine::leave(r, std::move(d));
  }
  void close(const core::close_request& r, core::on<core::reply> d) override {
    {
      const std::lock_guard hold(mutex_);
      for (const auto& [request, of] : asked_) {
        if (of.own && !of.own->is_lost()) ++live_at_close;
      }
    }
    wrapped_engine::close(r, std::move(d));
  }

  struct held_one {
    core::enqueue_request request;
    token order;
    std::vector<token> targets;
    std::shared_ptr<core::lease> own;

    void lose(core::status what, const std::string& text) const {
      own->lose();
      request.listener->lost(core::reply{what, text});
    }
    void shorten(time_point until) const {
      own->shorten(until);
      request.listener->shortened();
    }
  };
  /// The lock that was granted last.
  held_one newest() {
    const std::lock_guard hold(mutex_);
    return asked_.at(granted_);
  }
  std::vector<held_one> all() {
    const std::lock_guard hold(mutex_);
    std::vector<held_one> those;
    for (const auto& [request, of] : asked_) those.push_back(of);
    return those;
  }

  std::atomic<duration> own_ttl{std::chrono::seconds{20}};
  std::atomic<bool> blind{};                   ///< A confirm is answered `unavailable`.
  std::atomic<bool> closed{};                  ///< An enqueue is.
  std::atomic<bool> barred{};                  ///< What is refused is so until a person has acted.
  std::shared_ptr<core::lock_listener> first;  ///< Of the first enqueue.
  std::atomic<int> late_grants{};  ///< So many grants come when their deadline has passed.
  std::atomic<int> leaves{};
  std::atomic<int> gates_moved{};
  std::atomic<int> leaves_of_live{};
  std::atomic<int> live_at_close{};

 private:
  void refuse(const core::on<core::queue_view>& d, core::status what, std::string text) const {
    d(core::reply_with<core::queue_view>({what, std::move(text), barred.load()}));
  }
  held_one known(std::uint64_t request) {
    const std::lock_guard hold(mutex_);
    const auto at = asked_.find(request);
    return at == asked_.end() ? held_one{} : at->second;
  }
  core::queue_view as_own(core::queue_view v, std::uint64_t request) {
    v.mine = {};
    v.ahead.clear();
    v.targets.clear();
    v.first.reset();
    if (v.what == core::status::busy) v.text = "a majority of nodes have it";
    if (v.what != core::status::ok) return v;
    const bool late = late_grants.load() > 0 && late_grants.fetch_sub(1) > 0;
    v.own = std::make_shared<core::lease>(late ? clock::now() : clock::now() + own_ttl.load());
    const std::lock_guard hold(mutex_);
    granted_ = request;
    asked_[request].own = v.own;
    return v;
  }

  std::mutex mutex_;
  std::map<std::uint64_t, held_one> asked_;
  std::uint64_t granted_{};
};

/// Counts what its sessions' observers hear.
struct listener final : observer {
  void on(const event::lost& e) noexcept override {
    const std::lock_guard hold(mutex);
    cause = e.cause;
    reason = e.reason;
    ++lost;  // Last: whoever sees it may read the others.
  }
  void on(const event::released&) noexcept override { ++released; }
  void on(const event::waiting& e) noexcept override {
    ++waiting;
    ahead = e.ahead;
  }
  std::string last_reason() {
    const std::lock_guard hold(mutex);
    return reason;
  }
  std::mutex mutex;
  std::atomic<int> lost{};
  std::atomic<int> released{};
  std::atomic<int> waiting{};
  std::atomic<std::size_t> ahead{99};
  std::atomic<loss_cause> cause{};
  std::string reason;
};

/// A store on a leased engine, and sessions in it.
class leased_store : public ::testing::Test {
 protected:
  leased_store() {
    static std::atomic<int> n{};
    auto opened = memory("leased_" + std::to_string(++n));
    engine_ = std::make_shared<leased_engine>(opened.engine);
    opened.engine = engine_;
    opened.url += "-leased";
    store_ = store_core::on(opened, std::chrono::seconds{30}, std::chrono::hours{1});
  }
  session open_session(std::shared_ptr<observer> watcher = {},
                       duration ttl = std::chrono::seconds{30}) {
    auto core = session_core::open(store_, {.ttl = ttl, .observer = std::move(watcher)});
    if (!core) ADD_FAILURE() << core.error().message();
    return session_core::make_session(*core);
  }
  static lock must_acquire(session& s, const std::string& name) {
    auto got = s.acquire(lock_name(name));
    if (!got) ADD_FAILURE() << got.error().message();
    return std::move(*got);
  }

  std::shared_ptr<leased_engine> engine_;
  std::shared_ptr<store_core> store_;
};

}  // namespace holdfast::client::testing
