#pragma once

#include "sim/process.hpp"

#include "core/ledger.hpp"

#include <array>
#include <functional>
#include <map>
#include <vector>

namespace holdfast::sim {

/// A beat as a store sees it. One that compares carries the version it expects and, where it finds
/// another, looks for an own earlier write, as one must with ZooKeeper's setData.
struct beat_message {
  core::beat_request request;
  std::uint64_t expected{};
  int session{};
};
struct beat_answer : core::beat_reply {
  std::uint64_t written{};  ///< What the next beat has to expect.
};
struct watch_message {
  core::watch_request request;
  guard from;
  std::function<void()> notify;
};
struct deny_message {
  core::deny_request request;
  int session{};
};

/// One simulated engine: the reference table behind a network. Every serve() is one atomic step.
class store {
 public:
  store(context& c, int index, bool compares_beats);

  core::open_reply serve(const core::open_request& r);
  beat_answer serve(const beat_message& m);
  core::reply serve(const core::close_request& r);
  core::queue_view serve(const core::enqueue_request& r);
  core::leave_reply serve(const core::leave_request& r);
  core::queue_view serve(const core::confirm_request& r);
  core::take_reply serve(const core::take_request& r);
  core::deny_reply serve(const deny_message& m);
  core::glance_reply serve(const core::glance_request& r);
  core::reply serve(const watch_message& m);

  /// Answers nothing until then, and forgets all watches.
  void fall_silent(duration how_long);
  bool up() const noexcept { return silent_until_ <= context_.time.now(); }
  int index() const noexcept { return index_; }
  const core::ledger& table() const noexcept { return table_; }

 private:
  struct own_write {
    std::uint64_t written{};
    std::uint64_t attempt{};
  };
  struct seen_versions {
    std::array<core::version, 4> ring{};
    std::size_t count{};
  };

  bool wrote_earlier(const beat_message& m) const;
  void wake_watchers();
  void wake(const watch_message& m);
  core::queue_view perhaps_stale(core::queue_view v);

  context& context_;
  int index_;
  bool compares_beats_;
  moment silent_until_{};
  core::ledger table_;
  std::map<int, own_write> beats_;
  std::map<session_id, seen_versions> history_;
  std::vector<watch_message> watches_;
};

}  // namespace holdfast::sim
