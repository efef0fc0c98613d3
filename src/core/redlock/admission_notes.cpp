#include "core/redlock/admission.hpp"
#include "core/redlock/rules.hpp"

#include <algorithm>

/// Without records: what is known of a node is what this user's clients noted.

namespace holdfast::core::redlock {

admission::step admission::judge_without_record(node_index i, time_point now) {
  node_state& n = nodes_[i];
  const node_facts& f = n.facts;
  notes_.note_process(f.address, f.run_id, f.durable, now);
  if (n.assumed.empty()) n.assumed = f.run_id;
  settle_without_record(i, now);
  return {};
}

void admission::settle_without_record(node_index i, time_point now) {
  node_state& n = nodes_[i];
  // Not of one that comes later: others took what they may hold from the one before.
  const bool assumed = config_.assume_fresh && n.assumed == n.facts.run_id;
  const bool known = assumed || !active.refuse_lost_state;
  const time_point since = notes_.note(n.facts.run_id, now);
  n.wait.ready =
      std::max(n.out_until, known ? time_point::min() : wait_over(since, config_.max_ttl));
  n.is = now >= n.wait.ready && is_kept(i) ? standing::admitted : standing::waiting;
}

/// Whether the next process will not take what follows the server for one that has all that was
/// granted here, when it has not.
///
/// That a process syncs its writes no longer is seen late anyway: it votes while that is written,
/// but not when it cannot be.
bool admission::is_kept(node_index i) const {
  if (!active.vote_after_note) return true;
  const node_facts& f = nodes_[i].facts;
  const auto there = there_.process_at(f.address);
  const bool same = there && there->run_id == f.run_id;
  if (same && (!there->durable || f.durable)) return true;
  const auto asked = asked_.process_at(f.address);
  const bool tried = asked && asked->run_id == f.run_id && asked->durable == f.durable;
  // Where the notes cannot be written they may say nothing, and then who reads them waits.
  return tried ? !there || !there->durable : same;
}

admission::step admission::kept(const life_notes& asked, const life_notes& there, time_point now) {
  step s;
  if (config_.tokens) return finish(std::move(s), now);
  asked_ = asked;
  there_ = there;
  notes_.follow_only(there);
  notes_.merge(there);
  for (node_index i = 0; i < config_.nodes; ++i) {
    const node_state& n = nodes_[i];
    if (n.is != standing::admitted && n.is != standing::waiting) continue;
    const auto is = notes_.process_at(n.facts.address);
    const bool same = is && is->run_id == n.facts.run_id && is->durable == n.facts.durable;
    settle_without_record(i, now);
    // Another client saw something else there, and later.
    if (!same) s.look.add(i);
  }
  return finish(std::move(s), now);
}

}  // namespace holdfast::core::redlock
