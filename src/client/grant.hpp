#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/lock.hpp>
#include <holdfast/observer.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace holdfast::client {

class acquisition;
class session_core;

/// One name that a session acquires or holds: what a `lock` points to.
///
/// | state     | granted() | lose()      | release()              |
/// |-----------|-----------|-------------|------------------------|
/// | acquiring | held      | -           | -                      |
/// | held      | -         | lost, tells | over, then the engine  |
/// | lost      | -         | lost        | answers lost           |
/// | over      | -         | over        | -                      |
///
/// Thread safety: every function, from any thread.
class grant final : public std::enable_shared_from_this<grant> {
 public:
  grant(std::shared_ptr<session_core> owner, lock_name name, mode how);
  grant(const grant&) = delete;
  grant& operator=(const grant&) = delete;
  ~grant();

  static holdfast::lock make_lock(std::shared_ptr<grant> g) noexcept;

  const lock_name& name() const noexcept { return name_; }
  mode how() const noexcept { return how_; }
  holdfast::token token() const noexcept { return token_; }
  std::uint64_t request() const noexcept { return request_; }

  /// Set while it is acquired, and while the lock table knows it: under the table's mutex.
  acquisition* taker{};
  bool listed{};

  /// Makes it held; before anybody else can see the lock.
  void granted(holdfast::token t, std::uint64_t request, time_point now) noexcept;

  /// Never held, but an entry of ours may be in the store: over, and its name stays taken.
  void abandoned(holdfast::token order, std::uint64_t request) noexcept;

  result<void> check(duration needed) const noexcept;
  duration remaining() const noexcept;
  std::stop_token lost() const noexcept;
  void on_lost(std::function<void(const error&)> f);

  /// Over before anything is sent.
  result<void> release();
  /// What the destructor of a lock does: releases it unless it is lost.
  void abandon() noexcept;
  /// Tells that it is lost, once. Runs user code: never under a mutex.
  void lose(session_state why, const std::string& reason) noexcept;
  bool forked() const noexcept;

 private:
  enum class state : std::uint8_t { acquiring, held, lost, over };

  error why_lost() const;

  const std::shared_ptr<session_core> owner_;
  const lock_name name_;
  const mode how_;
  holdfast::token token_{};
  std::uint64_t request_{};
  time_point since_{};
  std::atomic<state> state_{state::acquiring};
  mutable std::mutex mutex_;  // Guards the two below; never held while they run.
  mutable std::stop_source stop_{std::nostopstate};  // Made when first asked for.
  std::function<void(const error&)> told_;
};

}  // namespace holdfast::client
