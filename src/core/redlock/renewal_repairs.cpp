#include "core/assert.hpp"
#include "core/redlock/renewal.hpp"
#include "core/redlock/rules.hpp"

#include <algorithm>
#include <utility>

/// How nodes get the locks and the record that they lack.

namespace holdfast::core::redlock {

namespace {

/// So much sooner than its renewal a lock that lacks nodes is asked for.
constexpr int sooner = 16;

}  // namespace

/// The nodes that do not have it, as far as is known.
node_set renewal::lacks(std::uint32_t slot) const {
  node_set s;
  for (node_index i = 0; i < config_.nodes; ++i) {
    if (row(slot)[i] == never) s.add(i);
  }
  return s;
}

/// A lock on fewer nodes than there are ends with the first of them that fails, though the others
/// may be well: they get it long before its first renewal.
void renewal::complete_later(std::uint32_t g, time_point sent) {
  const duration soon = std::max(period() / sooner, soonest);
  if (soon < period()) groups_[g].complete_at = std::min(groups_[g].complete_at, sent + soon);
}

/// Asks for those locks alone that some node still lacks which answers. It is no renewal: it moves
/// nothing of what is due, and takes no extension of a lock that has only so many.
void renewal::complete(std::uint32_t g, time_point now, step& s) {
  group& x = groups_[g];
  x.complete_at = time_point::max();
  if (x.waits) return;
  // Those that are due come first.
  if (!waiting_.empty() || under_way_.size() >= under_way_max) {
    x.complete_at = now + soonest;
    return;
  }
  expire(g, now, s);
  sent_batch b;
  b.completes = true;
  for (const std::uint32_t slot : x.slots) {
    const lock_state& l = locks_[slot];
    if (!l.lacking || l.extensions != no_limit) continue;
    if (!(lacks(slot) - silent_ - denied_by_).empty()) b.locks.push_back({slot, l.generation});
  }
  if (!b.locks.empty()) s.send.push_back(send(g, std::move(b), now));
}

void renewal::repair_after(const sent_batch& b, std::size_t k, time_point now, step& s) {
  if (!lives(b.locks[k])) return;
  const auto there = row(b.locks[k].slot);
  lock_state& l = locks_[b.locks[k].slot];
  l.lacking = !lacks(b.locks[k].slot).empty();
  const bool confirmed = b.confirmations[k] >= majority(config_.nodes);
  if (!l.lacking || (active.repair_with_majority && !confirmed) || l.own->until() <= now) return;
  for_each(b.answered - l.repairing - missing_ - denied_by_, [&](node_index i) {
    if (there[i] != never) return;
    l.repairing.add(i);
    repairs_.push_back({++numbers_, b.locks[k], i, now});
    s.repairs.push_back({numbers_, b.locks[k], i, l.granted});
  });
}

renewal::step renewal::repaired(std::uint64_t number, bool done, time_point now) {
  step s;
  const auto r = std::find_if(repairs_.begin(), repairs_.end(),
                              [&](const auto& x) { return x.number == number; });
  if (r == repairs_.end()) return finish(std::move(s));
  const sent_repair sent = *r;
  *r = repairs_.back();
  repairs_.pop_back();
  if (!lives(sent.lock)) return finish(std::move(s));
  HOLDFAST_ASSERT(locks_[sent.lock.slot].repairing.has(sent.node));
  locks_[sent.lock.slot].repairing.remove(sent.node);
  if (done) {
    const time_point from = active.count_from_send ? sent.at : now;
    protects(sent.lock.slot, sent.node, from + usable(config_.ttl));
    apply(sent.lock.slot, now, s);
  }
  return finish(std::move(s));
}

void renewal::reopen(node_index i, step& s) {
  if (reopening_.has(i) || denied_by_.has(i)) return;
  s.reopen.add(i);
  reopening_.add(i);
}

renewal::step renewal::session_missing(node_index i) {
  step s;
  if (over_ || i >= config_.nodes) return finish(std::move(s));
  missing_.add(i);
  reopen(i, s);
  return finish(std::move(s));
}

renewal::step renewal::reopened(node_index i, bool done, time_point now) {
  step s;
  reopening_.remove(i);
  if (!done || over_) return finish(std::move(s));
  missing_.remove(i);
  // What a majority confirmed while it had no record need not wait for the next batch.
  for (const group& g : groups_) {
    for (const sent_batch& b : g.sent) {
      for (std::size_t k = 0; b.answered.has(i) && k < b.locks.size(); ++k) {
        if (lives(b.locks[k]) && row(b.locks[k].slot)[i] == never) repair_after(b, k, now, s);
      }
    }
  }
  return finish(std::move(s));
}

}  // namespace holdfast::core::redlock
