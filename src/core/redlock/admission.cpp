#include "core/redlock/admission.hpp"

#include "core/assert.hpp"
#include "core/lease.hpp"
#include "core/redlock/rules.hpp"
#include "core/server_life.hpp"

#include <algorithm>

namespace holdfast::core::redlock {

namespace {

using namespace std::chrono_literals;

constexpr const char* take_out = "take it out of the list of nodes";

/// Between two looks at a node whose clock is behind.
constexpr duration behind_pause = 1s;

/// In node timeouts: the first pause before a node that lags is brought up.
constexpr int catch_up_first = 8;

duration catch_up_most(duration timeout) noexcept {
  return std::max(catch_up_first * timeout, admission::catch_up_long);
}

/// Between two looks at a node that only an operator brings back: nothing else tells when that was.
constexpr duration lost_pause = 1s;

/// Of the number of a seal's round: the others tell rejoins apart.
constexpr int rounds_bits = 32;

/// Between two connections to a node that is refused.
constexpr duration refused_pause = 5s;

/// How far its TIME was behind what it has recorded. Above the margin its scripts refuse.
duration time_behind(const node_facts& f) noexcept {
  return f.at == server_time{} ? duration::zero() : duration(f.record->last_time - f.at);
}

}  // namespace

admission::admission(config c, life_notes notes)
    : config_(std::move(c)),
      notes_(std::move(notes)),
      there_(notes_),
      server_claims_(config_.max_ttl),
      nodes_(config_.nodes),
      clocks_(config_.nodes),
      catch_up_(catch_up_first * config_.timeout, catch_up_most(config_.timeout)) {
  HOLDFAST_ASSERT(config_.nodes > 0 && config_.nodes <= nodes_max);
}

/// The process, whatever data it has now.
server_claims::server admission::server_of(const node_facts& f) {
  return {std::string(process_of(f.run_id)), f.record ? f.record->id : std::string()};
}

admission::step admission::looked_at(node_index i, const node_facts& f, const std::string& fresh,
                                     time_point now) {
  node_state& n = nodes_.at(i);
  began_ = std::min(began_, now);
  n.tried = true;
  const bool durable = f.durable || (f.rewriting && knows_as_durable(i, f));
  n.facts = f;
  n.facts.durable = durable;
  if (n.wait.last == waiting::last_look::asked) n.wait.last = waiting::last_look::done;
  n.fresh = fresh;
  n.look_at = time_point::max();
  looking_.remove(i);
  stop_join(i);
  n.refused.why = misfit(i, now);
  n.known = n.refused.why.empty();
  if (!n.refused.why.empty()) {
    n.is = standing::refused;
    n.wait.last = waiting::last_look::none;
    return finish({}, now);
  }
  note_life(i, now);
  step s;
  // Who was taken for the server that was here may be itself after all.
  const duration ttl = f.record ? f.record->max_ttl : duration::zero();
  if (server_claims_.settle(i, server_of(f), ttl, now)) s.look = refused();
  s.writes = (config_.tokens ? judge(i, now) : judge_without_record(i, now)).writes;
  // The first record that is seen shows that the blank nodes have lost theirs.
  for (node_index other = 0; f.record && other < config_.nodes; ++other) {
    if (nodes_[other].is != standing::blank) continue;
    step more = judge(other, now);
    s.writes.insert(s.writes.end(), more.writes.begin(), more.writes.end());
  }
  return finish(std::move(s), now);
}

/// A life of its data that somebody else began: the step of its clock was seen and waited for.
void admission::note_life(node_index i, time_point now) {
  node_state& n = nodes_[i];
  const auto& record = n.facts.record;
  const server_claims::server who = server_of(n.facts);
  if (record && n.life != record->nonce) {
    // Only of the same server is it known that the record was written since.
    const bool same = who.run_id == n.life_of.run_id || who.record_id == n.life_of.record_id;
    if (same) clocks_[i].begin_anew(record->last_time, n.life_asked, now);
    if (!same) clocks_[i].forget();
    n.stepped = false;
    n.life = record->nonce;
  }
  // An empty one may be another server, of which that says nothing.
  if (record || who.run_id == n.life_of.run_id) n.life_asked = n.facts.asked;
  if (record) n.life_of = who;
  n.unrecorded.reset();
  if (config_.tokens && !record) n.unrecorded.emplace();
}

/// Whether this very process was seen to sync every write: by us, or as the notes say.
bool admission::knows_as_durable(node_index i, const node_facts& f) const {
  const node_facts& before = nodes_[i].facts;
  if (is_same_life(before.run_id, f.run_id)) return before.durable;
  if (!config_.tokens) return notes_.is_durable(f.address, f.run_id);
  return f.record && is_same_life(f.record->run_id, f.run_id) && f.record->durable;
}

node_set admission::refused() const noexcept {
  node_set s;
  for (node_index i = 0; i < config_.nodes; ++i) {
    if (nodes_[i].is == standing::refused) s.add(i);
  }
  return s;
}

/// Why it can never be a voter as it is; empty when it can.
std::string admission::misfit(node_index i, time_point now) const {
  const node_facts& f = nodes_[i].facts;
  if (std::string kind = misfit_of_kind(f); !kind.empty()) return kind;
  const auto other = server_claims_.elsewhere(i, server_of(f), now);
  if (other && active.count_servers_once) {
    const std::string& there = nodes_[other->node].facts.address;
    if (!other->is_copy) return "is the same server as " + there + ": " + take_out;
    return "is a copy of " + there + ", with its node record: " + take_out +
           ", or DEL holdfast:node on the copy, which then waits like a node that lost its state. "
           "Each server needs a `dir` of its own";
  }
  const bool ours = !config_.tokens || !f.record || f.record->config_hash == config_.config_hash;
  return ours ? "" : of_other_list;
}

admission::step admission::judge(node_index i, time_point now) {
  node_state& n = nodes_[i];
  const auto& record = n.facts.record;
  const bool same = record && is_same_life(record->run_id, n.facts.run_id);
  step s;
  if (!record && !any_record()) {
    n.is = standing::blank;
  } else if (record && (n.stepped || !is_believable(*record))) {
    s.writes.push_back(mark(i));
  } else if (same && record->epoch > 0) {
    admit_in_time(i, now);
    if (record->durable != n.facts.durable) s.writes.push_back(durability_of(i));
  } else if (same) {
    wait_from_first_sight(i, now);
  } else if (record && record->epoch > 0 && record->durable && n.facts.durable) {
    n.is = standing::joining;
    n.wait.ready = time_point::min();
    n.wait.alone_at = alone_after(now);
    begin_join(i, n.wait.ready);
  } else {
    s.writes.push_back(mark(i));
  }
  return s;
}

void admission::admit(node_index i) {
  nodes_[i].is = standing::admitted;
  nodes_[i].under_way.refusals = 0;
  nodes_[i].wait.returns = 0;
  nodes_[i].join.reset();
}

void admission::admit_in_time(node_index i, time_point now) {
  node_state& n = nodes_[i];
  admit(i);
  const duration behind = time_behind(n.facts);
  if (behind <= margin) return;
  n.is = standing::behind;
  n.wait.ready = now + behind;
  n.look_at = now + std::min(behind, behind_pause);
}

time_point admission::wait_over(time_point since, duration max_ttl) noexcept {
  if (!active.wait_before_rejoin) return time_point::min();
  return since + takeover_after(max_ttl) / (active.wait_full_time ? 1 : 2);
}

/// When the wait for a node that lost state ends, by all that is known.
time_point admission::end_of_wait(node_index i, time_point now) {
  const time_point since = notes_.note(nodes_[i].facts.record->nonce, now);
  // A server may tell another one each time; what is forgotten waits for longer.
  notes_.keep_newest(life_notes::notes_max);
  return wait_over(since, max_ttl_for(i));
}

void admission::wait_from_first_sight(node_index i, time_point now) {
  node_state& n = nodes_[i];
  n.is = standing::waiting;
  const bool is_last = n.wait.last == waiting::last_look::done;
  if (active.wait_by_seen_later || !is_last) n.wait.ready = end_of_wait(i, now);
  // No look is newer than this one, and a program that runs for a moment has no time for another.
  if (now >= n.wait.ready) n.wait.last = waiting::last_look::done;
  n.wait.alone_at = only_stepped(i) ? std::max(alone_after(now), n.wait.ready) : time_point::max();
  begin_join(i, n.wait.ready);
}

void admission::begin_join(node_index i, time_point ready) {
  node_state& n = nodes_[i];
  rejoin::config c;
  c.nodes = config_.nodes;
  c.node = i;
  c.seen = *n.facts.record;
  c.run_id = n.facts.run_id;
  c.durable = n.facts.durable;
  c.ready = ready;
  c.timeout = config_.timeout;
  c.rounds = ++joins_ << rounds_bits;
  c.seed = config_.seed + i;
  n.join.emplace(std::move(c));
}

admission::step admission::disconnected(node_index i, time_point now) {
  leave(i);
  nodes_[i].known = false;
  nodes_[i].tried = true;
  nodes_[i].look_at = time_point::max();
  return finish({}, now);
}

void admission::leave(node_index i) {
  // Perhaps of another store: nothing that it says holds here, also not while it is away.
  if (nodes_.at(i).is == standing::refused) nodes_[i].facts.record.reset();
  nodes_[i].is = standing::away;
  nodes_[i].lag.catch_up = time_point::max();
  nodes_[i].wait.last = waiting::last_look::none;
  meeting_.remove(i);
  looking_.remove(i);
  stop_join(i);
}

void admission::stop_join(node_index i) {
  nodes_[i].join.reset();
  nodes_[i].under_way.adopting = false;
  if (joining_ == i) joining_.reset();
}

admission::step admission::doubted(node_index i, time_point now) {
  leave(i);
  step s;
  s.look.add(i);
  return finish(std::move(s), now);
}

admission::step admission::on_time(node_index i, server_time at, time_point sent,
                                   time_point received) {
  node_state& n = nodes_.at(i);
  step s;
  // Its name may lead to another server for a moment: that clock is not the node's.
  if (!n.known) return s;
  // Nor is that of an empty one, before it is the node: until then it grants nothing.
  if (n.unrecorded) {
    n.unrecorded->sample(at, sent, received);
    return s;
  }
  const auto v = clocks_[i].sample(at, sent, received);
  if (v == clock_watch::verdict::steady || !active.step_like_restart) return s;
  if (n.is == standing::marking) return s;
  if (!config_.tokens) {
    n.wait.ready = n.out_until = wait_over(received, config_.max_ttl);
    if (n.is != standing::away) n.is = standing::waiting;
    return finish(std::move(s), received);
  }
  n.stepped = true;
  // While it is away nobody counts it; it is recorded when it was looked at.
  if (n.is == standing::away) return s;
  if (n.fresh.empty()) return doubted(i, received);
  stop_join(i);
  s.writes.push_back(mark(i));
  return finish(std::move(s), received);
}

admission::step admission::sealed(const seal& asked, const seal_reply& r, time_point now) {
  step s;
  node_state& from = nodes_.at(asked.node);
  const auto& record = from.facts.record;
  const bool same = record && (record->nonce == asked.nonce || !active.seal_of_its_life);
  if (asked.target == asked.node) meeting_.remove(asked.node);
  // A look that was answered meanwhile may have seen a later one.
  if (same && r.what == seal_reply::result::sealed) {
    from.facts.record->epoch = std::max(from.facts.record->epoch, asked.epoch);
  }
  const bool is_epoch = r.epoch > 0 && r.epoch <= believable;
  if (same && is_epoch) from.facts.record->epoch = std::max(from.facts.record->epoch, r.epoch);
  if (same && r.what == seal_reply::result::refused && !is_epoch) {
    leave(asked.node);
    s.look.add(asked.node);
  }
  auto& join = nodes_.at(asked.target).join;
  if (join) take(asked.target, join->sealed(asked, r, now), s, now);
  return finish(std::move(s), now);
}

/// What a rejoin wants done, and its end.
void admission::take(node_index i, const rejoin::step& from, step& s, time_point now) {
  node_state& n = nodes_[i];
  s.seals.insert(s.seals.end(), from.seals.begin(), from.seals.end());
  if (from.record) {
    s.writes.push_back(*from.record);
    n.under_way.writing = from.record->record;
  }
  s.wake = std::min(s.wake, from.wake);
  const auto is = n.join->current();
  if (n.is_sealing()) {
    HOLDFAST_ASSERT(!joining_ || joining_ == i);
    joining_ = i;
    if (n.is == standing::waiting) n.is = standing::joining;
    n.wait.last = waiting::last_look::none;
  } else if (joining_ == i) {
    joining_.reset();
  }
  // Before it seals again, what is known of the others by then counts.
  const bool waited = n.is == standing::joining && n.facts.record->epoch == 0;
  if (waited && is == rejoin::state::pausing) n.is = standing::waiting;
  if (is == rejoin::state::done) {
    n.facts.record = n.join->result();
    server_claims_.settle(i, server_of(n.facts), n.facts.record->max_ttl, now);
    notes_.forget(n.facts.record->nonce);
    admit(i);
  } else if (is == rejoin::state::overtaken) {
    leave(i);
    s.look.add(i);
  }
}

admission::step admission::tick(time_point now) {
  for (node_index i = 0; i < config_.nodes; ++i) {
    node_state& n = nodes_[i];
    const bool over = !config_.tokens && n.is == standing::waiting && now >= n.wait.ready;
    if (over && is_kept(i)) n.is = standing::admitted;
  }
  return finish({}, now);
}

admission::step admission::finish(step s, time_point now) {
  settle_epoch(now);
  catch_up(s, now);
  go_on(s, now);
  settle_epoch(now);
  note_absence(s, now);
  served_ = served_ || of_one_epoch().size() >= majority(config_.nodes);
  for (node_index i = 0; i < config_.nodes; ++i) {
    node_state& n = nodes_[i];
    if (n.join && !n.under_way.adopting && n.wait.alone_at != time_point::max()) {
      const time_point then = has_tried_all(now) ? n.wait.alone_at : began_ + first_tries;
      if (then > now) s.wake = std::min(s.wake, then);
    }
    // When that is over and its note is not kept, kept() is what tells.
    const bool waits = !config_.tokens && n.is == standing::waiting && n.wait.ready > now;
    if (waits) s.wake = std::min(s.wake, n.wait.ready);
    if (n.look_at == time_point::max() && needs_operator(i)) n.look_at = now + lost_pause;
    if (now >= n.look_at) s.look.add(i);
    if (now >= n.look_at) n.look_at = time_point::max();
    s.wake = std::min(s.wake, n.look_at);
  }
  check_standings();
  return s;
}

void admission::note_absence(step& s, time_point now) {
  for (node_index i = 0; i < config_.nodes; ++i) {
    node_state& n = nodes_[i];
    const bool refused = n.is == standing::refused;
    if (refused || n.is == standing::away) server_claims_.leave(i, now);
    if (!refused) {
      n.refused.reconnect = time_point::max();
    } else if (n.refused.reconnect == time_point::max()) {
      n.refused.reconnect = now + refused_pause;
    } else if (now >= n.refused.reconnect) {
      s.reconnect.add(i);
      n.refused.reconnect = now + refused_pause;
    }
    s.wake = std::min(s.wake, n.refused.reconnect);
  }
}

node_set admission::voters() const noexcept {
  if (active.ask_only_seen) return of_one_epoch();
  node_set s;
  for (node_index i = 0; i < config_.nodes; ++i) {
    if (has_state(nodes_[i].is)) s.add(i);
  }
  return s;
}

node_set admission::of_one_epoch() const noexcept {
  node_set s;
  for (node_index i = 0; i < config_.nodes; ++i) {
    const node_state& n = nodes_[i];
    if (has_state(n.is) && (!config_.tokens || n.facts.record->epoch == epoch_)) s.add(i);
  }
  return s;
}

node_set admission::keepers() const noexcept {
  node_set s;
  for (node_index i = 0; i < config_.nodes; ++i) {
    const node_state& n = nodes_[i];
    const bool kept = n.is == standing::joining && n.facts.record->epoch > 0;
    if (has_state(n.is) || (kept && time_behind(n.facts) <= margin)) s.add(i);
  }
  return s;
}

admission::ballot admission::ballot_of(node_index i) const {
  const auto& record = nodes_.at(i).facts.record;
  return record ? ballot{record->nonce, epoch_} : ballot{};
}

admission::standing admission::standing_of(node_index i) const noexcept { return nodes_[i].is; }

/// Its record is that of a node that has lost nothing: it may be sealed.
bool admission::intact(node_index i) const noexcept {
  const node_state& n = nodes_[i];
  if (!active.seal_only_admitted && (n.is == standing::waiting || n.is == standing::joining)) {
    return true;
  }
  return has_state(n.is) || n.is == standing::behind || has_restarted(i);
}

/// It is durable, so it has all that it had, unless it read an older file: that is repaired by the
/// seals of its own rejoin, and by nothing else.
bool admission::has_restarted(node_index i) const noexcept {
  const node_state& n = nodes_[i];
  return n.is == standing::joining && n.facts.record->epoch > 0;
}

/// It is out because its clock stepped, and has lost nothing else.
bool admission::only_stepped(node_index i) const noexcept {
  const auto& record = nodes_[i].facts.record;
  return record && record->kept_epoch > 0;
}

std::optional<node_record> admission::any_record() const {
  for (const node_state& n : nodes_) {
    if (n.is != standing::refused && n.facts.record) return n.facts.record;
  }
  return std::nullopt;
}

/// For a node that lost its state: its own record may be older than a change.
duration admission::max_ttl_for(node_index i) const {
  if (active.wait_by_longest) return longest_max_ttl();
  const auto& own = nodes_[i].facts.record;
  return (own ? own : any_record()).value_or(node_record{}).max_ttl;
}

/// Of all records that are known.
duration admission::longest_max_ttl() const {
  duration longest{};
  for (const node_state& n : nodes_) {
    if (n.is == standing::refused || !n.facts.record) continue;
    longest = std::max(longest, n.facts.record->max_ttl);
  }
  return longest;
}

bool admission::is_returning(node_index i, time_point now) const noexcept {
  const node_state& n = nodes_[i];
  return n.is == standing::waiting && n.join && only_stepped(i) && now >= n.wait.ready;
}

/// Its loss is named, and too few others kept their state. More may come, or `recover` writes.
bool admission::needs_operator(node_index i) const {
  const node_state& n = nodes_[i];
  if (!config_.tokens || !active.look_for_recover) return false;
  const bool lost = n.is == standing::waiting && !only_stepped(i) && missing_others(i) > 0;
  return lost || n.is == standing::blank;
}

bool admission::busy() const noexcept {
  return joining_ || !meeting_.empty() || count(standing::marking) > 0;
}

std::size_t admission::count(standing what) const noexcept {
  return static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(),
                                                [&](const node_state& n) { return n.is == what; }));
}

}  // namespace holdfast::core::redlock
