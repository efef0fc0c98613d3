#pragma once

#include "core/lease.hpp"
#include "core/records.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::core {

/// A successor's notes: which version of which session was first seen when, on this host's clock.
///
/// A session whose version stayed the same for takeover_after(ttl), counted from what was
/// **received**, may be deleted by compare at that version: its holder, who counts from what it
/// sent, stopped before. A stale first sight only makes the wait longer.
///
/// Thread safety: none; one owner.
class sightings {
 public:
  struct sight {
    version at;
    duration ttl{};
    time_point since{};
  };
  struct due_session {
    session_id id;
    version at;
  };

  /// Notes what was seen at `now`. The same version keeps its first time; another starts anew.
  void note(const session_id& id, const version& at, duration ttl, time_point now);
  /// Takes over a note kept by an earlier process of this host: `since` is its time. Ignored when
  /// there is a note already.
  void recall(const session_id& id, const sight& s);
  /// Takes over what another client of this host saw: of the same version the earlier sight counts,
  /// of two versions the one that was seen later.
  void merge(const sightings& other);
  void forget(const session_id& id);
  /// Forgets every session that is not in `keep`.
  void keep_only(const std::vector<session_id>& keep);
  /// Keeps the newest `most`, and of those none that was due over a day before `now`.
  void bound(std::size_t most, time_point now);

  /// The sessions that may be taken over at `now`, the longest due first.
  std::vector<due_session> due(time_point now) const;
  /// When the next one will be due; nothing when none is noted.
  std::optional<time_point> next_due() const;

  const std::map<session_id, sight>& all() const noexcept { return seen_; }

 private:
  /// Instead of what was noted of it before.
  void put(const session_id& id, const sight& s);

  std::map<session_id, sight> seen_;
  std::set<std::pair<time_point, session_id>> queue_;  ///< The same ones, by when they are due.
};

}  // namespace holdfast::core
