#pragma once

#include "core/engine.hpp"
#include "core/patrol.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/session_id.hpp>

#include <functional>
#include <memory>

namespace holdfast::client {

/// One patrol for each store that this process has open, however many sessions it has there: what
/// looking after the dead costs a server does not grow with them.
///
/// No mutex is held while the engine or the caller's functions are called.
/// Thread safety: every function, from any thread.
class patrolling : public std::enable_shared_from_this<patrolling> {
 public:
  /// Shared by all sessions on this engine; null when nobody has to look after its dead.
  static std::shared_ptr<patrolling> on(const std::shared_ptr<core::engine>& engine,
                                        const std::shared_ptr<io::loop>& loop);

  patrolling(std::shared_ptr<core::engine> engine, std::shared_ptr<io::loop> loop);

  struct caller {
    std::function<void(const session_id&)> took;  ///< A record was taken.
    std::function<void()> again;                  ///< A round is due though nobody's heart beat.
  };
  /// A heartbeat was acknowledged, or again() was called: begins a round, if one is due. Does not
  /// wait for it.
  void go(caller c) HOLDFAST_EXCLUDES(mutex_);

 private:
  void seen(const core::glance_reply& r, const caller& c) HOLDFAST_EXCLUDES(mutex_);
  void taken(const session_id& id, const core::take_reply& r, const caller& c)
      HOLDFAST_EXCLUDES(mutex_);
  void go_on(const caller& c) HOLDFAST_EXCLUDES(mutex_);

  const std::shared_ptr<core::engine> engine_;
  const std::shared_ptr<io::loop> loop_;
  io::mutex mutex_;
  core::patrol patrol_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::client
