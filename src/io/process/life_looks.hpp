#pragma once

#include "core/records.hpp"
#include "io/process/life.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace holdfast::io {

/// Looks at life locks that those who wait behind one session share: thousands would else look at
/// one file again and again, on the thread of the heartbeats.
///
/// Only `alive` is remembered, and that for a moment: it makes a takeover later by so much. Proof
/// of death is seen by whoever acts on it.
///
/// Thread safety: every function, from any thread.
class life_looks {
 public:
  using look = std::function<life(const std::string&, const session_id&, const core::life_place&)>;
  static constexpr duration remembered_for = std::chrono::milliseconds{100};
  static constexpr std::size_t remembered_most = 4096;

  /// `l` is what looks: probe_life() but for tests.
  explicit life_looks(look l = probe_life) : look_(std::move(l)) {}
  /// Those of all stores of this process.
  static life_looks& of_process();

  /// What probe_life() tells, or that it told `alive` of this very life `age` before `now` at most.
  life at(const std::string& directory, const session_id& id, const core::life_place& place,
          duration age, time_point now) HOLDFAST_EXCLUDES(mutex_);

 private:
  struct seen {
    core::life_place where{};
    time_point when{};
  };
  void remember(const session_id& id, const seen& alive) HOLDFAST_REQUIRES(mutex_);

  const look look_;
  mutex mutex_;  // Never held while it looks.
  std::map<session_id, seen> alive_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::io
