#include "core/assert.hpp"
#include "core/redlock/admission.hpp"
#include "core/redlock/rules.hpp"
#include "core/server_life.hpp"

#include <algorithm>
#include <utility>

/// What is written into the record of a node, and what the answers say.

namespace holdfast::core::redlock {

namespace {

using namespace std::chrono_literals;

/// Between two looks at a node that refuses what has to be written there.
constexpr duration refusals_first = 100ms;
constexpr duration refusals_most = 5s;
/// So many times as long as the first is longer than the longest.
constexpr unsigned doublings = 6;
static_assert(refusals_first * (1U << doublings) >= refusals_most);

}  // namespace

/// What a node is in, or was before its clock was seen to step; zero when it lost more than that.
std::uint64_t admission::kept_epoch_of(node_index i) const {
  const node_facts& f = nodes_[i].facts;
  if (!f.record || !is_believable(*f.record)) return 0;
  const bool same = is_same_life(f.record->run_id, f.run_id);
  const bool may_lack = !same && !(f.record->durable && f.durable);
  if (may_lack && active.loss_beside_step) return 0;
  return std::max(f.record->epoch, f.record->kept_epoch);
}

/// Names the loss: from now on no script there grants or extends, and the wait can begin.
write admission::mark(node_index i) {
  node_state& n = nodes_[i];
  n.is = standing::marking;
  HOLDFAST_ASSERT(!n.fresh.empty());
  write w;
  w.node = i;
  if (n.facts.record) {
    w.nonce_seen = n.facts.record->nonce;
    w.epoch_seen = n.facts.record->epoch;
  }
  w.record = n.facts.record ? *n.facts.record : any_record().value_or(node_record{});
  w.record.kept_epoch = kept_epoch_of(i);
  // What it loaded may be the file of another node, which must not be taken for a copy of this one.
  if (w.record.kept_epoch == 0) w.record.id = n.fresh;
  if (!n.facts.record || w.record.floor > believable) w.record.floor = 0;
  w.record.max_ttl = max_ttl_for(i);
  w.record.nonce = n.fresh;
  w.record.run_id = n.facts.run_id;
  w.record.durable = n.facts.durable;
  w.record.epoch = active.refuse_lost_state ? 0 : newest_epoch();
  n.under_way.writing = w.record;
  n.facts.record = w.record;
  n.wait.last = waiting::last_look::none;
  n.fresh.clear();
  return w;
}

/// The next process is judged by what the record says then: it must not say of an older file that
/// it has every write. It may fail; the next look sees that, and how it is then.
write admission::durability_of(node_index i) const {
  node_record r = *nodes_[i].facts.record;
  r.durable = nodes_[i].facts.durable;
  return {i, r.nonce, r.epoch, r};
}

admission::step admission::written(const write& w, write_reply r, time_point now) {
  step s;
  const node_index i = w.node;
  node_state& n = nodes_.at(i);
  // The answer to one that another has followed says nothing of that.
  if (active.answer_of_its_write && n.under_way.writing != w.record)
    return finish(std::move(s), now);
  n.under_way.writing.reset();
  if (n.is == standing::marking) {
    if (r != write_reply::written) return not_written(i, r, now);
    n.life = n.facts.record->nonce;
    n.life_of = server_of(n.facts);
    n.life_asked = n.facts.asked;
    // Now it is the node, and was watched since before: what it granted earlier is lost.
    if (n.unrecorded) clocks_[i] = *std::exchange(n.unrecorded, std::nullopt);
    n.stepped = false;
    server_claims_.settle(i, server_of(n.facts), n.facts.record->max_ttl, now);
    if (n.facts.record->epoch > 0) {
      admit(i);
    } else {
      wait_from_first_sight(i, now);
    }
  } else if (n.under_way.adopting) {
    if (r != write_reply::written) return not_written(i, r, now);
    n.facts.record = alone_record(i);
    stop_join(i);
    admit(i);
  } else if (n.join) {
    take(i, n.join->written(r, now), s, now);
  }
  return finish(std::move(s), now);
}

/// Somebody else was first: that is looked at now. A server that refuses the write (full, without
/// the replicas it wants, without the right) does so again: it is asked more and more rarely.
admission::step admission::not_written(node_index i, write_reply r, time_point now) {
  node_state& n = nodes_[i];
  if (r == write_reply::changed) return doubted(i, now);
  leave(i);
  const duration pause = refusals_first * (1U << std::min(n.under_way.refusals, doublings));
  n.look_at = now + std::min(pause, refusals_most);
  ++n.under_way.refusals;
  return finish({}, now);
}

}  // namespace holdfast::core::redlock
