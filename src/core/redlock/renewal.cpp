#include "core/redlock/renewal.hpp"

#include "core/assert.hpp"
#include "core/redlock/rules.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::core::redlock {

namespace {

constexpr std::size_t sends_remembered = 4;  ///< Older answers than that prove nothing of use.
constexpr int group_bits = 24;               ///< A batch's number carries its group.
constexpr std::size_t groups_max = std::size_t{1} << group_bits;

constexpr std::uint64_t group_of(std::uint64_t number) noexcept {
  return number & (groups_max - 1);
}

}  // namespace

renewal::renewal(config c, time_point opened) : config_(c) {
  HOLDFAST_ASSERT(c.nodes > 0 && c.nodes <= nodes_max);
  session_until_.fill(never);
  groups_.emplace_back();
  groups_[0].due = opened + period();
  roomy_.insert(0);
  schedule(0);
}

renewal::handle renewal::add(lease& own, node_set there, time_point until, token granted,
                             std::uint32_t extensions) {
  const std::uint32_t slot = take_slot();
  const std::uint32_t g = roomy_group();
  lock_state& l = locks_[slot];
  HOLDFAST_ASSERT(usable(config_.ttl) > duration::zero());
  HOLDFAST_ASSERT(l.own == nullptr && (there - node_set::all(config_.nodes)).empty());
  l.own = &own;
  l.said = own.until();
  // The lease says no more than the nodes promised.
  HOLDFAST_ASSERT(l.said <= until);
  l.first = until;
  l.group = g;
  l.extensions = extensions;
  l.granted = granted;
  l.extending = false;
  l.lacking = there != node_set::all(config_.nodes);
  l.repairing = {};
  std::fill(row(slot).begin(), row(slot).end(), never);
  for_each(there, [&](node_index i) { row(slot)[i] = until; });
  group& into = groups_[g];
  const time_point due = until - usable(config_.ttl) + period();
  into.due = into.slots.empty() && g != 0 ? due : std::min(into.due, due);
  HOLDFAST_ASSERT(into.slots.size() < batch_max);
  into.slots.push_back(slot);
  if (into.slots.size() == batch_max) roomy_.erase(g);
  into.ends = std::min(into.ends, l.said);
  if (l.lacking) complete_later(g, until - usable(config_.ttl));
  ++live_;
  schedule(g);
  return {slot, l.generation};
}

void renewal::granted_late(handle h, node_index i) {
  if (!lives(h)) return;
  const time_point first = locks_[h.slot].first;
  protects(h.slot, i, active.late_grant_from_attempt ? first : std::max(first, newest(h)));
  locks_[h.slot].lacking = !lacks(h.slot).empty();
}

/// What the newest request for it is worth, whichever node that went to.
time_point renewal::newest(handle h) const {
  time_point sent = never;
  for (const sent_batch& b : groups_[locks_[h.slot].group].sent) {
    if (std::find(b.locks.begin(), b.locks.end(), h) != b.locks.end()) sent = b.at;
  }
  for (const sent_repair& r : repairs_) {
    if (r.lock == h) sent = std::max(sent, r.at);
  }
  return sent == never ? never : sent + usable(config_.ttl);
}

void renewal::protects(std::uint32_t slot, node_index i, time_point until) {
  row(slot)[i] = std::max(row(slot)[i], until);
}

void renewal::remove(handle h) {
  if (lives(h)) free_slot(h.slot);
}

renewal::step renewal::tick(time_point now) {
  step s;
  while (!over_ && !queue_.empty() && queue_.begin()->first <= now) {
    const std::uint32_t g = queue_.begin()->second;
    group& x = groups_[g];
    if (now >= x.ends) expire(g, now, s);
    const bool empty = x.slots.empty() && g != 0;
    if (!empty && now >= x.due && !std::exchange(x.waits, true)) {
      // The session ends with its records, and all locks with it.
      waiting_.insert(g == 0 ? waiting_.begin() : waiting_.end(), g);
    }
    if (!over_ && now >= x.complete_at) complete(g, now, s);
    schedule(g);
  }
  send_waiting(now, s);
  return finish(std::move(s));
}

void renewal::send_waiting(time_point now, step& s) {
  std::erase_if(under_way_, [&](const flight& f) { return f.at + patience() <= now; });
  while (!over_ && !waiting_.empty() && under_way_.size() < under_way_max) {
    const std::uint32_t g = waiting_.front();
    waiting_.pop_front();
    groups_[g].waits = false;
    expire(g, now, s);
    if (g == 0 || !groups_[g].slots.empty()) {
      s.send.push_back(send(g, now));
    }
    schedule(g);
  }
}

/// For how long a batch keeps the next one back: all together never for longer than ttl/6.
duration renewal::patience() const noexcept {
  const auto turns = static_cast<duration::rep>(groups_.size() / under_way_max + 1);
  return resend_after(config_.ttl) / turns;
}

renewal::step renewal::beat(time_point now) {
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    groups_[g].due = now;
    schedule(g);
  }
  return tick(now);
}

duration renewal::period() const noexcept {
  return config_.period > duration::zero() ? config_.period : config_.ttl / 3;
}

renewal::batch renewal::send(std::uint32_t g, time_point now) {
  group& from = groups_[g];
  sent_batch b;
  HOLDFAST_ASSERT(from.slots.size() <= batch_max);
  for (const std::uint32_t slot : from.slots) {
    lock_state& l = locks_[slot];
    HOLDFAST_ASSERT(is_promised(slot));
    // A repetition belongs to the same extension.
    if (!l.extending && !may_begin(l, now)) continue;
    if (!std::exchange(l.extending, true) && l.extensions != no_limit) --l.extensions;
    b.locks.push_back({slot, l.generation});
  }
  from.due = now + resend_after(config_.ttl);
  return send(g, std::move(b), now);
}

/// Where one lock of a group is not extended, all are asked for again: none that has only so many
/// extensions spends one on that.
bool renewal::may_begin(const lock_state& l, time_point now) const noexcept {
  if (l.extensions == no_limit) return true;
  const time_point extended_at = l.said - usable(config_.ttl);
  return l.extensions > 0 && now - extended_at >= config_.ttl / 4;
}

renewal::batch renewal::send(std::uint32_t g, sent_batch b, time_point now) {
  auto& sent = groups_[g].sent;
  b.number = (++numbers_ << group_bits) + g;
  b.at = now;
  b.confirmations.resize(b.locks.size());
  batch out{b.number, b.locks};
  const bool answerable = !sent.empty() && now - sent.back().at >= soonest;
  if (answerable) silent_ = silent_ | (node_set::all(config_.nodes) - sent.back().answered);
  if (sent.size() == sends_remembered) sent.erase(sent.begin());
  sent.push_back(std::move(b));
  under_way_.push_back({out.number, now});
  return out;
}

void renewal::expire(std::uint32_t g, time_point now, step& s) {
  group& x = groups_[g];
  x.ends = time_point::max();
  // The last first: free_slot() puts the last one into the place of what it takes out.
  for (std::size_t k = x.slots.size(); k-- > 0;) {
    const std::uint32_t slot = x.slots[k];
    const lock_state& l = locks_[slot];
    if (l.said <= now) l.own->expire(now);
    if (l.own->is_lost()) {
      s.lost.push_back({{slot, l.generation}, errc::lost, l.extensions == 0});
      free_slot(slot);
    } else {
      x.ends = std::min(x.ends, l.said);
    }
  }
}

renewal::step renewal::answered(std::uint64_t number, node_index i, const answer& a,
                                time_point now) {
  step s;
  const std::uint64_t g = group_of(number);
  if (over_ || g >= groups_.size() || i >= config_.nodes) return finish(std::move(s));
  auto& sent = groups_[g].sent;
  const auto b =
      std::find_if(sent.begin(), sent.end(), [&](const auto& x) { return x.number == number; });
  if (b == sent.end() || b->answered.has(i)) return finish(std::move(s));
  b->answered.add(i);
  silent_.remove(i);
  if (b->answered.size() >= majority(config_.nodes)) {
    std::erase_if(under_way_, [&](const flight& f) { return f.number == number; });
  }
  // A denial ends by itself: where it reached too few to end the session, that goes on.
  if (a.session != session_there::denied) denied_by_.remove(i);
  switch (a.session) {
    case session_there::holds:
      extended(*b, i, a, now, s);
      break;
    case session_there::missing:
      missing(*b, i, now, s);
      break;
    case session_there::denied:
      denied_by_.add(i);
      if (denied_by_.size() >= deny_count(config_.nodes)) deny_all(s);
      break;
  }
  schedule(static_cast<std::uint32_t>(g));
  send_waiting(now, s);
  return finish(std::move(s));
}

void renewal::extended(sent_batch& b, node_index i, const answer& a, time_point now, step& s) {
  const auto& proven = active.prove_own_attempt ? b : groups_[group_of(b.number)].sent.back();
  const time_point until = (active.count_from_send ? proven.at : now) + usable(config_.ttl);
  session_until_[i] = std::max(session_until_[i], until);
  const std::size_t enough = majority(config_.nodes);
  bool all = b.answered.size() >= enough;
  std::array<std::uint8_t, batch_max> moved;
  std::size_t count = 0;
  for (std::size_t k = 0; k < b.locks.size(); ++k) {
    if (!lives(b.locks[k])) continue;
    const std::uint32_t slot = b.locks[k].slot;
    time_point& there = row(slot)[i];
    if (a.ours[k]) {
      if (++b.confirmations[k] == enough) locks_[slot].extending = false;
      there = std::max(there, until);
    } else if (active.drop_lost_nodes) {
      there = never;
      locks_[slot].lacking = true;
    }
    all = all && b.confirmations[k] >= enough;
    if (a.ours[k] && !may_extend(slot, until, now) && !locks_[slot].lacking) continue;
    moved[count++] = static_cast<std::uint8_t>(k);
    // One write to a lease waits for the one before it, and each would wait for its memory, too.
    __builtin_prefetch(locks_[slot].own, 1);
  }
  for (const std::uint8_t k : std::span(moved).first(count)) {
    apply(b.locks[k].slot, now, s);
    if (locks_[b.locks[k].slot].lacking) repair_after(b, k, now, s);
  }
  if (all && !b.confirmed) confirm(b);
  if (b.confirmed) {
    s.reopen = missing_ - reopening_ - denied_by_;
    reopening_ = reopening_ | s.reopen;
  }
}

void renewal::confirm(sent_batch& b) {
  b.confirmed = true;
  if (b.completes) return;  // The others of its group were not in it.
  group& g = groups_[group_of(b.number)];
  g.due = std::max(g.due, b.at + period());
}

void renewal::missing(const sent_batch& b, node_index i, time_point now, step& s) {
  missing_.add(i);
  // Whether it may have the record again, a majority has said by then.
  if (b.locks.empty() || b.confirmed) reopen(i, s);
  for (const handle& h : b.locks) {
    if (!lives(h)) continue;
    if (active.drop_lost_nodes) {
      row(h.slot)[i] = never;
      locks_[h.slot].lacking = true;
    }
    apply(h.slot, now, s);
  }
}

void renewal::deny_all(step& s) {
  s.denied = true;
  over_ = true;
  for (std::uint32_t slot = 0; slot < locks_.size(); ++slot) {
    if (locks_[slot].own == nullptr) continue;
    locks_[slot].own->lose();
    s.lost.push_back({{slot, locks_[slot].generation}, errc::denied});
    free_slot(slot);
  }
  HOLDFAST_ASSERT(live_ == 0);
}

/// Whether apply() has anything to do after one node's deadline rose to `until`. Of a majority's
/// answers only the last one moves the lock's deadline, and to see that costs less than to look for
/// the deadline.
bool renewal::may_extend(std::uint32_t slot, time_point until, time_point now) const noexcept {
  const time_point said = locks_[slot].said;
  if (said <= now || !active.per_node_deadlines) return true;
  if (until <= said) return false;
  std::size_t later = 0;
  for (const time_point t : row(slot)) later += t > said ? 1 : 0;
  return later >= majority(config_.nodes);
}

/// Whether a majority of the nodes protects the lock for as long as its lease says.
bool renewal::is_promised(std::uint32_t slot) const noexcept {
  if (!active.per_node_deadlines || !active.majority_of_configured) return true;
  std::size_t there = 0;
  for (const time_point t : row(slot)) there += t >= locks_[slot].said ? 1 : 0;
  return there >= majority(config_.nodes);
}

/// Writes the lock's deadline to its lease.
void renewal::apply(std::uint32_t slot, time_point now, step& s) {
  lock_state& l = locks_[slot];
  const time_point until = deadline(slot);
  if (until <= now) {
    l.own->lose();
  } else if (until > l.said) {
    l.own->extend(until, now);
  } else if (until < l.said) {
    l.own->shorten(until);
    s.shortened.push_back({slot, l.generation});
    groups_[l.group].ends = std::min(groups_[l.group].ends, until);
  }
  l.said = until;
  if (!l.own->is_lost()) return;
  s.lost.push_back({{slot, l.generation}, errc::lost, l.extensions == 0});
  free_slot(slot);
}

bool renewal::is_used_up(handle h) const { return lives(h) && locks_[h.slot].extensions == 0; }

time_point renewal::deadline(std::uint32_t slot) const {
  if (active.per_node_deadlines) return majority_deadline(row(slot));
  const auto there = static_cast<std::size_t>(
      std::count_if(row(slot).begin(), row(slot).end(), [](time_point t) { return t != never; }));
  if (there < majority(config_.nodes)) return never;
  return std::max(majority_deadline(row(slot)),
                  majority_deadline(std::span(session_until_).first(config_.nodes)));
}

node_set renewal::nodes_of(handle h) const {
  node_set there;
  if (!lives(h)) return there;
  for (node_index i = 0; i < config_.nodes; ++i) {
    if (row(h.slot)[i] != never) there.add(i);
  }
  return there;
}

time_point renewal::session_until() const {
  if (!active.session_by_majority) return *std::ranges::max_element(session_until_);
  return majority_deadline(std::span(session_until_).first(config_.nodes));
}

std::span<time_point> renewal::row(std::uint32_t slot) noexcept {
  return std::span(until_).subspan(slot * config_.nodes, config_.nodes);
}

std::span<const time_point> renewal::row(std::uint32_t slot) const noexcept {
  return std::span(until_).subspan(slot * config_.nodes, config_.nodes);
}

bool renewal::lives(handle h) const noexcept {
  return h.slot < locks_.size() && locks_[h.slot].own != nullptr &&
         locks_[h.slot].generation == h.generation;
}

std::uint32_t renewal::take_slot() {
  if (!free_.empty()) {
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  locks_.emplace_back();
  until_.resize(until_.size() + config_.nodes);
  return static_cast<std::uint32_t>(locks_.size() - 1);
}

std::uint32_t renewal::roomy_group() {
  if (roomy_.empty()) {
    groups_.emplace_back();
    HOLDFAST_ASSERT(groups_.size() <= groups_max);
    roomy_.insert(static_cast<std::uint32_t>(groups_.size() - 1));
  }
  return *roomy_.begin();
}

void renewal::free_slot(std::uint32_t slot) {
  lock_state& l = locks_[slot];
  auto& slots = groups_[l.group].slots;
  const auto at = std::find(slots.begin(), slots.end(), slot);
  HOLDFAST_ASSERT(l.own != nullptr && at != slots.end());
  *at = slots.back();
  slots.pop_back();
  if (slots.empty()) groups_[l.group].ends = time_point::max();
  roomy_.insert(l.group);
  l.own = nullptr;
  ++l.generation;
  free_.push_back(slot);
  --live_;
}

/// Puts a group where its next event is: a lease that may end, or the next send.
void renewal::schedule(std::uint32_t g) {
  group& x = groups_[g];
  const bool sends = !x.waits && (g == 0 || !x.slots.empty());
  const time_point key = std::min({x.ends, x.complete_at, sends ? x.due : time_point::max()});
  if (key == x.key) return;  // Mostly: a new grant ends after the others.
  const bool was_there = queue_.erase({x.key, g}) == 1;
  HOLDFAST_ASSERT(was_there == (x.key != time_point::max()));
  x.key = key;
  if (key != time_point::max()) queue_.emplace(key, g);
}

time_point renewal::wake() const noexcept {
  if (over_) return time_point::max();
  const time_point next = queue_.empty() ? time_point::max() : queue_.begin()->first;
  if (waiting_.empty() || under_way_.empty()) return next;
  return std::min(next, under_way_.front().at + patience());
}

/// Behind every event.
void renewal::check_tables() const noexcept {
  HOLDFAST_ASSERT(live_ + free_.size() == locks_.size());
  HOLDFAST_ASSERT(until_.size() == locks_.size() * config_.nodes);
  HOLDFAST_ASSERT(queue_.size() <= groups_.size() && waiting_.size() <= groups_.size());
  // No batch waits while there is room: nothing but an answer would send it.
  HOLDFAST_ASSERT(under_way_.size() <= under_way_max);
  HOLDFAST_ASSERT(over_ || waiting_.empty() || under_way_.size() == under_way_max);
  HOLDFAST_ASSERT((reopening_ - missing_).empty());
}

renewal::step renewal::finish(step s) const {
  check_tables();
  s.wake = wake();
  return s;
}

}  // namespace holdfast::core::redlock
