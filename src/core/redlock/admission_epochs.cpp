#include "core/assert.hpp"
#include "core/redlock/admission.hpp"
#include "core/redlock/rules.hpp"
#include "core/splitmix.hpp"

#include <algorithm>
#include <map>
#include <utility>

/// How nodes come back and meet in one epoch.

namespace holdfast::core::redlock {

/// Until when a durable node that restarts waits for others, of which there must be too few all the
/// time: they may show that an older state was restored.
time_point admission::alone_after(time_point now) const noexcept {
  return config_.nodes == 1 ? now : now + 4 * config_.timeout;
}

/// What is written for a node that goes on with all that it had.
node_record admission::alone_record(node_index i) const {
  node_record r = *nodes_[i].facts.record;
  r.run_id = nodes_[i].facts.run_id;
  if (r.epoch == 0) r.epoch = std::exchange(r.kept_epoch, 0);
  // Who lost its state has neither: it comes back with others only.
  HOLDFAST_ASSERT(r.epoch > 0);
  return r;
}

/// Whom it seals is known by now, and so is the longest ttl that any of them ever granted with it:
/// a record's max_ttl changes only together with its nonce, which the seal compares, or when the
/// node comes back from epoch zero, in which it is not sealed.
bool admission::still_waits(step& s, node_index i, time_point now) {
  node_state& n = nodes_[i];
  if (n.is != standing::waiting || !active.wait_then_seal) return false;
  if (active.wait_by_seen_later) n.wait.ready = std::max(n.wait.ready, end_of_wait(i, now));
  if (now >= n.wait.ready) return false;
  s.wake = std::min(s.wake, n.wait.ready);
  return true;
}

/// Of many clients whose wait is over, one brings it back: whoever seals for it once more puts all
/// others behind, and that again.
bool admission::looks_first(step& s, node_index i, time_point now) {
  node_state& n = nodes_[i];
  using last_look = waiting::last_look;
  if (n.is != standing::waiting || !active.wait_then_seal) return false;
  if (n.wait.last == last_look::none) {
    const auto longer = 1U << std::min(n.wait.returns, 3U);
    const auto most = static_cast<std::uint64_t>((return_first * longer * config_.timeout).count());
    n.wait.last = last_look::drawn;
    n.wait.last_look_at =
        now + duration(static_cast<std::int64_t>(splitmix(config_.seed) % (most + 1)));
  }
  if (n.wait.last == last_look::drawn && now >= n.wait.last_look_at) {
    n.wait.last = last_look::asked;
    ++n.wait.returns;
    s.look.add(i);
  }
  if (n.wait.last == last_look::drawn) s.wake = std::min(s.wake, n.wait.last_look_at);
  return n.wait.last != last_look::done;
}

/// Others that come later come to all clients, of which none may then bring a node back at once. To
/// a program that has just begun they come one after the other.
bool admission::has_just_begun(time_point now) const noexcept {
  return now - began_ < return_first * config_.timeout;
}

bool admission::has_tried_all(time_point now) const noexcept {
  return now - began_ >= first_tries || std::ranges::all_of(nodes_, &node_state::tried);
}

/// Moves on every rejoin that may; one seals at a time.
void admission::go_on(step& s, time_point now) {
  for (node_index i = 0; i < config_.nodes; ++i) {
    node_state& n = nodes_[i];
    const bool others_first = joining_ ? joining_ != i : !meeting_.empty();
    if (!n.join || n.under_way.adopting || others_first) continue;
    if (still_waits(s, i, now)) continue;
    // Else what `recover` gave a majority would be worn away by losses, one after the other.
    const bool lost = n.is == standing::waiting;
    if (lost && active.rejoin_with_longest) n.join->allow(longest_max_ttl());
    const auto others = others_of(i);
    const bool enough = others.size() >= seal_count(config_.nodes);
    if (enough && n.wait.alone_at != time_point::max())
      n.wait.alone_at = std::max(alone_after(now), n.wait.ready);
    // While others are being sealed for it, two of its records would be under way at once.
    if (!enough && now >= n.wait.alone_at && has_tried_all(now) && !n.is_sealing()) {
      n.under_way.adopting = true;
      n.under_way.writing = alone_record(i);
      const node_record& seen = *n.facts.record;
      s.writes.push_back({i, seen.nonce, seen.epoch, *n.under_way.writing});
      continue;
    }
    const bool others_come = std::exchange(n.wait.lacks_others, !enough);
    if ((!enough || others_come) && !has_just_begun(now)) n.wait.last = waiting::last_look::none;
    if (enough && looks_first(s, i, now)) continue;
    // It begins with those that come: a pause would outlast a program that runs for a moment.
    if (lost && !n.join->may_begin(others)) continue;
    take(i, n.join->tick(others, now), s, now);
  }
}

/// Many clients that paused alike would overtake each other for as long as there are many.
void admission::pause_for(std::uint64_t newest, time_point now) {
  if (newest <= newest_) return;
  const bool calm = now - newest_since_ > 8 * catch_up_.most();
  if (calm) catch_up_.reset();
  if (calm || count(standing::lagging) > 0) {
    catch_up_pause_ = catch_up_.next(splitmix(config_.seed));
  }
  newest_ = newest;
  newest_since_ = now;
  // Whoever moved it brings them up, unless it is gone by now.
  const time_point then = now + std::min(catch_up_pause_, catch_up_long);
  for (node_state& n : nodes_) {
    if (n.join || n.lag.catch_up == time_point::max()) continue;
    n.leave_behind_until(std::max(n.lag.catch_up, then));
  }
}

/// One epoch for all: who is behind is brought up by a rejoin that needs no wait.
void admission::settle_epoch(time_point now) {
  if (!config_.tokens) return;
  const std::uint64_t newest = newest_epoch();
  pause_for(newest, now);
  std::map<std::uint64_t, std::size_t> sizes;
  for (node_index i = 0; i < config_.nodes; ++i) {
    node_state& n = nodes_[i];
    if (!has_state(n.is)) continue;
    ++sizes[n.facts.record->epoch];
    const bool behind = n.facts.record->epoch < newest;
    n.is = behind ? standing::lagging : standing::admitted;
    if (!behind) stop_join(i);
    if (!behind) n.lag.catch_up = time_point::max();
    // Each seal of ours puts others behind.
    if (behind && !n.join && n.lag.catch_up == time_point::max()) {
      n.leave_behind_until(now + catch_up_pause_);
    }
  }
  epoch_ = 0;
  for (const auto& [epoch, size] : sizes) {
    if (epoch_ == 0 || size >= sizes[epoch_]) epoch_ = epoch;
  }
}

/// Brings up who is still behind when its pause is over and all were looked at once more.
void admission::catch_up(step& s, time_point now) {
  for (node_index i = 0; i < config_.nodes; ++i) {
    node_state& n = nodes_[i];
    if (n.is != standing::lagging) continue;
    // It would only wait for more, and those that are up may be enough without.
    if (n.join && !n.is_sealing() && missing_others(i) > 0) {
      stop_join(i);
      n.leave_behind_until(now + catch_up_pause_);
    }
    if (n.join) continue;
    const time_point known =
        looking_.empty() ? n.lag.catch_up : n.lag.catch_up + seal_limit(config_.timeout);
    if (n.lag.looked_again && now >= known) {
      bring_up(i, s, now);
    } else if (n.lag.looked_again) {
      s.wake = std::min(s.wake, known);
    } else if (now >= n.lag.catch_up) {
      n.lag.looked_again = true;
      n.lag.catch_up = now + config_.timeout;
      looking_ = {};
      for (node_index other = 0; other < config_.nodes; ++other) {
        if (has_state(nodes_[other].is)) looking_.add(other);
      }
      s.look = s.look | looking_;
    }
    // When it is past, more nodes have to come: that tells itself.
    if (!n.join && n.lag.catch_up > now) s.wake = std::min(s.wake, n.lag.catch_up);
  }
}

void admission::bring_up(node_index i, step& s, time_point now) {
  if (missing_others(i) == 0) {
    nodes_[i].wait.alone_at = time_point::max();
    return begin_join(i, time_point::min());
  }
  if (may_meet() && !joining_ && meeting_.empty()) meet(s, now);
}

bool admission::may_meet() const noexcept {
  if (!config_.tokens || !active.meet_in_one_epoch) return false;
  const std::size_t enough = majority(config_.nodes);
  std::size_t all = 0;
  bool lags = false;
  for (node_index i = 0; i < config_.nodes; ++i) {
    if (has_state(nodes_[i].is)) ++all;
    lags = lags || (nodes_[i].is == standing::lagging && missing_others(i) > 0);
  }
  return lags && all >= enough && of_one_epoch().size() < enough;
}

bool admission::is_catching_up(node_index i) const noexcept {
  const bool agree = of_one_epoch().size() >= majority(config_.nodes);
  if (nodes_[i].is != standing::lagging || agree) return false;
  return missing_others(i) == 0 || may_meet();
}

/// Any client may seal what kept its state at any time and in any higher epoch, as one whose rejoin
/// never ends does (the models have that: STRAY in models/epochs.pml). So who does it needs no
/// others. Not in an epoch of their own: clients that reach different majorities would take nodes
/// away from each other for ever.
void admission::meet(step& s, time_point now) {
  const std::uint64_t newest = newest_epoch();
  for (node_index i = 0; i < config_.nodes; ++i) {
    node_state& n = nodes_[i];
    if (n.is != standing::lagging) continue;
    s.seals.push_back({i, i, n.facts.record->nonce, newest, 0});
    meeting_.add(i);
    n.leave_behind_until(now + catch_up_pause_);
    s.wake = std::min(s.wake, n.lag.catch_up);
  }
}

std::vector<rejoin::other> admission::others_of(node_index i) const {
  // One that restarted itself may have nobody else, and those that lag lost nothing.
  const auto& record = nodes_[i].facts.record;
  const bool lost = record && record->epoch == 0;
  std::vector<rejoin::other> all;
  for (node_index other = 0; other < config_.nodes; ++other) {
    if (other == i || !intact(other)) continue;
    if (lost && active.rejoin_restarted_first && has_restarted(other)) continue;
    all.push_back({other, nodes_[other].facts.record->nonce, nodes_[other].facts.record->epoch});
  }
  return all;
}

/// How many more would have to be there for it to rejoin.
std::size_t admission::missing_others(node_index i) const {
  const std::size_t others = others_of(i).size();
  const std::size_t needed = seal_count(config_.nodes);
  return needed > others ? needed - others : 0;
}

/// Behind every event: what is said of the nodes in several places agrees.
void admission::check_standings() const {
  bool any = false;
  for (node_index i = 0; i < config_.nodes; ++i) {
    const node_state& n = nodes_[i];
    check_standing(n);
    HOLDFAST_ASSERT(n.is_sealing() == (joining_ == i));
    any = any || has_state(n.is);
  }
  HOLDFAST_ASSERT(!config_.tokens || any == (epoch_ > 0));
  // Who grants a lock extends it, too.
  HOLDFAST_ASSERT((voters() - keepers()).empty());
}

void admission::check_standing(const node_state& n) const {
  const auto& record = n.facts.record;
  const bool has_record = !config_.tokens || record;
  switch (n.is) {
    case standing::away:
      HOLDFAST_ASSERT(!n.join);
      break;
    case standing::admitted:
      HOLDFAST_ASSERT(!n.join && has_record);
      break;
    case standing::marking:
      HOLDFAST_ASSERT(!n.join && record && n.under_way.writing);
      break;
    case standing::waiting:
      HOLDFAST_ASSERT(!config_.tokens || (n.join && record));
      break;
    case standing::joining:
      HOLDFAST_ASSERT(n.join && record);
      break;
    case standing::lagging:
      HOLDFAST_ASSERT(record);
      break;
    case standing::behind:
      HOLDFAST_ASSERT(!n.join && record);
      break;
    case standing::blank:
      HOLDFAST_ASSERT(!n.join && !record && n.unrecorded);
      break;
    case standing::refused:
      HOLDFAST_ASSERT(!n.join && !n.known && !n.refused.why.empty());
      break;
  }
  // Epoch zero is that of a node whose loss was named: no script there grants.
  HOLDFAST_ASSERT(!config_.tokens || !has_state(n.is) || record->epoch > 0);
  HOLDFAST_ASSERT(!n.under_way.adopting || (n.join && n.under_way.writing));
  // Whose clock is kept apart was not recorded since: it neither votes nor waits to.
  const bool may_be_apart = n.is == standing::away || n.is == standing::marking ||
                            n.is == standing::blank || n.is == standing::refused;
  HOLDFAST_ASSERT(!n.unrecorded || may_be_apart);
}

std::uint64_t admission::newest_epoch() const noexcept {
  std::uint64_t newest = 0;
  for (const node_state& n : nodes_) {
    if (n.is != standing::away && n.is != standing::refused && n.facts.record) {
      newest = std::max(newest, n.facts.record->epoch);
    }
  }
  return newest;
}

}  // namespace holdfast::core::redlock
