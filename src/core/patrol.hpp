#pragma once

#include "core/engine.hpp"
#include "core/sightings.hpp"

#include <set>
#include <vector>

namespace holdfast::core {

/// How those who live remove the records of those who died where nobody else looks: on a host that
/// is gone, or in a container that had a run directory of its own. Pure.
///
/// One round with a heartbeat: a glance at a few records of the store's choice, which are noted,
/// and at those noted ones whose full wait is over. One that changed meanwhile is alive and is
/// forgotten; one that is still at the version that was noted is taken, by compare. That is the
/// rule of every waiter, kept by the same sightings: a patrol knows no shorter one.
///
/// | call     | when                             | what follows                                   |
/// |----------|----------------------------------|------------------------------------------------|
/// | begin()  | may_begin()                      | the glance, then seen()                        |
/// | seen()   | it was answered, in any way      | the takes; without any the round is over       |
/// | taken()  | one take was answered            | the round is over behind the last of them      |
///
/// A round looks at most at `most` records of each kind, and they come no faster than the pauses
/// allow, whatever is in the store and however often the sessions beat.
///
/// Thread safety: none; one owner.
class patrol {
 public:
  static constexpr std::size_t most = 8;
  static_assert(most <= glance_max);
  /// So many are noted at most: with a ttl of 30 s, and two rounds in each second, about 500.
  static constexpr std::size_t noted_most = 1024;
  static constexpr duration pause = std::chrono::seconds{5};
  /// While most of those that are looked at again are dead: there are more of them.
  static constexpr duration pause_among_dead = std::chrono::milliseconds{500};

  patrol() = default;
  patrol(duration between, duration between_among_dead)
      : pause_(between), pause_among_dead_(between_among_dead) {}

  bool may_begin(time_point now) const noexcept;
  /// `from`: random.
  glance_request begin(const session_id& from, time_point now);
  std::vector<take_request> seen(const glance_reply& r, time_point now);
  void taken(const session_id& id, const take_reply& r);

  bool under_way() const noexcept { return under_way_; }
  /// When the next round should begin without a heartbeat; max: it need not.
  time_point next() const noexcept;
  const sightings& notes() const noexcept { return notes_; }

 private:
  duration pause_now() const noexcept { return among_dead_ ? pause_among_dead_ : pause_; }
  /// One that has beaten since it was noted is alive, and makes room for another.
  void look(const session_record& s, time_point now);
  /// Every take was answered. Among many dead the next round comes sooner.
  void end_round() noexcept;

  duration pause_{pause};
  duration pause_among_dead_{pause_among_dead};
  sightings notes_;
  std::vector<session_id> again_;  ///< Those that this round looks at again.
  std::set<session_id> takes_;     ///< Not answered yet.
  time_point began_{time_point::min()};
  std::size_t dead_{};  ///< Of again_.
  bool under_way_{};
  bool among_dead_{};
};

}  // namespace holdfast::core
