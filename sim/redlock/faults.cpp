// What a world does to its nodes, its network and its clients.
#include "sim/redlock/client.hpp"
#include "sim/redlock/driver_rules.hpp"
#include "sim/redlock/recovery.hpp"
#include "sim/redlock/world.hpp"

#include "core/lease.hpp"
#include "core/redlock/quorum.hpp"

#include <algorithm>

namespace holdfast::sim::redlock {

namespace rl = core::redlock;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t older_kept = 6;  ///< States that a restart may bring back.

/// By so much that nobody overlooks it, or by about what is left of a lock.
duration any_step(random& dice, duration ttl) {
  if (dice.chance(500'000)) return dice.chance(500'000) ? duration{3600s} : duration{-5s};
  const duration by = dice.between(ttl / 8, ttl);
  return dice.chance(500'000) ? by : -by;
}

}  // namespace

void world::start_faults() {
  after(setup.losses, &world::lose_state);
  after(setup.restarts, &world::restart_durable);
  after(setup.backups, &world::restore_backup);
  after(setup.unloads, &world::unload_scripts);
  after(setup.clock_steps, &world::step_clock);
  after(setup.outages, &world::outage);
  after(setup.cuts, &world::cut);
  after(setup.misroutes, &world::misroute);
  after(setup.damages, &world::damage);
  after(setup.evictions, &world::evict);
  after(setup.pauses, &world::pause);
  after(setup.crashes, &world::crash);
  after(setup.denials, &world::deny);
  after(setup.recovers, &world::recover);
  after(setup.power_cuts, &world::power_cut);
  after(setup.disasters, &world::lose_majority);
  after(setup.settings, &world::change_persistence);
  after(setup.disk_hangs, &world::hang_disk);
  after(1s, &world::change_rates);
  after(setup.ttl / 4, &world::keep_any);
}

void world::after(duration mean, void (world::*fault)()) {
  if (mean <= 0s) return;
  time.at(time.now() + dice.between(mean / 4, mean * 2), [this, mean, fault] {
    if (healed_) return;
    (this->*fault)();
    after(mean, fault);
  });
}

client& world::any_client() {
  return *clients_[static_cast<std::size_t>(dice.index(clients_.size()))];
}

/// Nodes that cannot be counted on now: fewer than a majority, which is the assumption.
std::size_t world::disturbed() const {
  const auto rejoins = [](const host& h) {
    return h.server.record() && h.server.record()->run_id != h.run_id;
  };
  return static_cast<std::size_t>(std::count_if(hosts_.begin(), hosts_.end(), [&](const host& h) {
    return h.lost || h.stepped || (setup.backups > 0s && rejoins(h));
  }));
}

void world::keep_any() { keep_older(at(any_node())); }

void world::keep_older(host& h) {
  h.older.push_back(h.server.stored());
  if (h.older.size() > older_kept) h.older.pop_front();
}

void world::end_life(rl::node_index i) {
  ++at(i).life;
  ++at(i).suffered;
  at(i).run_id = "r" + std::to_string(fresh());
  for (const auto& c : clients_) c->node_ended(i);
  operator_->node_ended(i);
}

void world::lose_state() { lose_state_of(any_node()); }

bool world::may_lose(const host& h, bool durable) const {
  // Two that go by each other learn nothing from it.
  const auto older = [](const host& other) { return other.durable && other.lost; };
  if (durable && std::any_of(hosts_.begin(), hosts_.end(), older)) return false;
  return h.durable == durable && !h.lost && (h.stepped || disturbed() < rl::spare(hosts_.size()));
}

void world::lose_state_of(rl::node_index i) {
  host& h = at(i);
  if (!may_lose(h, false)) return;
  const bool flushed = setup.tokens && dice.chance(300'000);
  const bool older = !flushed && dice.chance(500'000);
  if (older) {
    restore_older(h);
  } else {
    h.server.flush();
  }
  events.note(time.now(), flushed ? "flushed" : older ? "lost some" : "lost all", i);
  h.lost = true;
  if (flushed) ++h.suffered;
  if (!flushed) end_life(i);
  if (dice.chance(setup.joined)) join_in();
  // Without a record nobody says when it is back: what was granted before is over by then.
  if (!setup.tokens) time.at(time.now() + 2 * setup.ttl, [&h] { h.lost = false; });
}

/// About when another node that lost its state is sealed for. With a third one away, none of both
/// comes back without the other.
void world::join_in() {
  const duration wait = core::takeover_after(setup.ttl);
  time.at(time.now() + wait + dice.between(0s, setup.node_timeout), [this] {
    if (healed_) return;
    restore_backup_of(any_node());
    outage_of(any_node());
  });
}

void world::restore_older(host& h) {
  h.server.restore(h.older[static_cast<std::size_t>(dice.index(h.older.size()))]);
}

/// A power cut for all, or for so many that the others cannot say what was lost. Mostly the newest
/// state that was saved is there again, whose counters have not ended yet.
void world::lose_majority() {
  const bool all = dice.chance(500'000);
  const std::size_t enough = all ? hosts_.size() : rl::majority(hosts_.size());
  const rl::node_index first = any_node();
  for (std::size_t k = 0; k < enough; ++k) {
    const auto i = static_cast<rl::node_index>((first + k) % hosts_.size());
    host& h = at(i);
    if (dice.chance(700'000)) {
      h.server.restore(h.older.back());
    } else {
      restore_older(h);
    }
    events.note(time.now(), "restored with most", i);
    h.lost = true;
    end_life(i);
  }
  operator_->bring_back();
}

void world::restore_backup_of(rl::node_index i) {
  host& h = at(i);
  if (!may_lose(h, true)) return;
  restore_older(h);
  events.note(time.now(), "restored", i);
  h.lost = true;
  end_life(i);
}

/// What was sealed for a rejoin has forgotten it just after.
void world::unseal(rl::node_index rejoined) {
  const auto other =
      static_cast<rl::node_index>((rejoined + 1 + dice.index(hosts_.size() - 1)) % hosts_.size());
  time.at(time.now() + dice.between(0ms, 3ms), [this, other] {
    host& h = at(other);
    if (healed_ || !may_lose(h, true)) return;
    h.server.restore(h.older.back());
    events.note(time.now(), "restored from before its seal", other);
    h.lost = true;
    end_life(other);
  });
}

/// A loss just after a grant, while its answer is under way, is what the rejoin is made for.
void world::granted_by(host& h) {
  if (healed_ || !dice.chance(setup.hits)) return;
  const auto i = static_cast<rl::node_index>(&h - hosts_.data());
  time.at(time.now() + dice.between(0ms, 3ms), [this, i] {
    if (healed_) return;
    lose_state_of(i);
    restore_backup_of(i);
  });
}

void world::restart_durable() {
  const rl::node_index i = any_node();
  // An older state is only found out while the others vote.
  const bool alone = setup.backups == 0s || disturbed() == 0;
  if (!at(i).durable || !alone) return;
  events.note(time.now(), "restarted", i);
  end_life(i);
}

/// One that syncs keeps what it has; one that does not may come back with anything that it had
/// since.
void world::change_persistence() {
  const rl::node_index i = any_node();
  host& h = at(i);
  if (h.durable) {
    h.older.clear();
    keep_older(h);
  } else {
    restore_older(h);
  }
  h.durable = !h.durable;
  events.note(time.now(), h.durable ? "restarted, syncs again" : "restarted, syncs no more", i);
  end_life(i);
}

void world::hang_disk() {
  notes_file& f = notes_[static_cast<std::size_t>(dice.index(notes_.size()))];
  f.hangs_until = time.now() + dice.between(setup.ttl / 8, setup.hang_most_in_ttls * setup.ttl);
  events.note(time.now(), "disk hangs", &f - notes_.data());
}

void world::restore_backup() { restore_backup_of(any_node()); }

void world::unload_scripts() {
  const rl::node_index i = any_node();
  at(i).server.forget_scripts();
  events.note(time.now(), "forgot its scripts", i);
}

void world::step_clock() {
  const rl::node_index i = any_node();
  if (!at(i).server.record() || at(i).stepped) return;
  if (!at(i).lost && disturbed() >= rl::spare(hosts_.size())) return;
  // What a clock that is set back keeps alive stays for as long.
  const duration by = any_step(dice, setup.ttl);
  at(i).offset += by;
  at(i).stepped = true;
  at(i).stepped_at = time.now();
  ++at(i).suffered;
  at(i).nonce_stepped = at(i).server.record()->nonce;
  events.note(time.now(), "clock stepped: node, by ms", i, in_ms(by).count());
}

void world::power_cut() {
  const rl::node_index i = any_node();
  if (!may_lose(at(i), false)) return;
  lose_state_of(i);
  outage_of(static_cast<rl::node_index>((i + 1 + dice.index(hosts_.size() - 1)) % hosts_.size()));
  crash();
}

void world::outage() { outage_of(any_node()); }

void world::outage_of(rl::node_index i) {
  const auto out = std::count_if(hosts_.begin(), hosts_.end(),
                                 [&](const host& h) { return h.unreachable_until > time.now(); });
  if (static_cast<std::size_t>(out) >= rl::spare(hosts_.size())) return;
  at(i).unreachable_until = time.now() + dice.between(setup.outage_most / 8, setup.outage_most);
  events.note(time.now(), "unreachable", i);
}

void world::cut() {
  client& c = any_client();
  const rl::node_index i = any_node();
  c.cut_off(i, time.now() + dice.between(setup.ttl / 8, setup.cut_most_in_ttls * setup.ttl));
  events.note(time.now(), "cut off: client, node", c.place(), i);
}

void world::misroute() {
  client* c = &any_client();
  const rl::node_index i = any_node();
  c->carry_to(i, any_node());
  events.note(time.now(), "misrouted: client, node", c->place(), i);
  c->post(time.now() + dice.between(setup.ttl / 4, 4 * setup.ttl), [c, i] { c->disconnect(i); });
}

void world::damage() {
  const rl::node_index i = any_node();
  host& h = at(i);
  if (!h.server.record() || !may_lose(h, false)) return;
  h.server.damage(dice.chance(500'000));
  note_record(h);
  events.note(time.now(), "damaged", i);
  h.lost = true;
  ++h.suffered;
}

void world::evict() {
  const auto lock = static_cast<std::uint32_t>(dice.index(static_cast<std::size_t>(setup.locks)));
  const rl::node_index i = any_node();
  at(i).server.remove(lock);
  events.note(time.now(), "evicted: node, lock", i, lock);
}

void world::pause() {
  client& c = any_client();
  c.stand_still_until(time.now() + dice.between(0ms, 2 * setup.ttl));
  events.note(time.now(), "paused", c.place());
}

void world::crash() { replace(any_client().place()); }

void world::deny() {
  client& c = any_client();
  std::vector<host*> admitted;
  for (host& h : hosts_) {
    if (h.server.record() && h.server.record()->epoch > 0) admitted.push_back(&h);
  }
  const std::size_t enough = rl::deny_count(hosts_.size()) - (drivers.deny_enough ? 0U : 1U);
  if (admitted.size() < enough) return;
  for (std::size_t done = 0; done < enough; ++done) {
    std::swap(admitted[done],
              admitted[done + static_cast<std::size_t>(dice.index(admitted.size() - done))]);
    host& h = *admitted[done];
    h.server.set_time(wall_of(h));
    h.server.load_scripts();
    h.server.deny(c.session(), h.server.record()->nonce);
  }
  judge.denied(c.session());
  events.note(time.now(), "denied", c.place());
}

void world::recover() { operator_->run(); }

void world::change_rates() {
  for (host& h : hosts_) h.wall.set_rate(time.now(), dice.between(-rate_error, rate_error));
  for (auto& c : client_clocks_) {
    c.set_rate(time.now(), dice.between(-rate_error, rate_error));
  }
}

void world::lose_for_good() {
  const rl::node_index first = any_node();
  for (std::size_t k = 0; k < rl::spare(hosts_.size()); ++k) {
    const auto i = static_cast<rl::node_index>((first + k) % hosts_.size());
    at(i).gone = true;
    events.note(time.now(), "gone", i);
  }
}

void world::heal() {
  healed_ = true;
  events.note(time.now(), "healed", 0);
  for (host& h : hosts_) h.unreachable_until = {};
  if (setup.gone) lose_for_good();
  for (notes_file& f : notes_) f.hangs_until = {};
  for (const auto& c : clients_) c->heal();
  operator_->heal();
}

}  // namespace holdfast::sim::redlock
