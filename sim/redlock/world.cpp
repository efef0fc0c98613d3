#include "sim/redlock/world.hpp"

#include "sim/redlock/client.hpp"
#include "sim/redlock/recovery.hpp"

#include <algorithm>

namespace holdfast::sim::redlock {

namespace rl = core::redlock;
using namespace std::chrono_literals;

namespace {

constexpr int freed_in_ttls = 2;        ///< The second is for the pauses of a client that tries.
constexpr duration turn_limit = 60s;    ///< After the last fault, for everybody's next grant.
constexpr unsigned rewrites_most = 20;  ///< Each client may do the same once.

}  // namespace

world::world(const scenario& s, std::uint64_t seed)
    : setup(s), dice(seed), disk_dice(~seed), judge(setup, [this] { return time.now(); }) {
  hosts_.resize(static_cast<std::size_t>(s.nodes));
  found_nodes();
  notes_.resize(s.one_user ? 1 : static_cast<std::size_t>(s.clients));
  for (std::size_t i = 0; i < notes_.size(); ++i) {
    client_clocks_.emplace_back(dice.between(100s, 200s), dice.between(-rate_error, rate_error));
  }
  clients_.resize(static_cast<std::size_t>(s.clients));
  operator_ = std::make_unique<recovery>(*this);
}

world::~world() = default;

void world::found_nodes() {
  for (host& h : hosts_) {
    const auto i = static_cast<int>(&h - hosts_.data());
    h.run_id = std::string("r") + std::to_string(fresh());
    h.durable = (setup.durable_last ? setup.nodes - 1 - i : i) < setup.durable;
    h.wall = host_clock(1'000'000s + dice.between(0s, setup.clocks_apart),
                        dice.between(-rate_error, rate_error));
    keep_older(h);
    if (!setup.tokens) continue;
    node_record r;
    r.id = "i" + std::to_string(i);
    r.nonce = "n" + std::to_string(fresh());
    r.epoch = 1;
    r.run_id = h.run_id;
    r.max_ttl = setup.ttl;
    r.config_hash = "list";
    r.durable = h.durable;
    h.server.set_time(wall_of(h));
    h.server.write({static_cast<rl::node_index>(i), "", 0, r});
    note_record(h);
    h.older.clear();
    keep_older(h);
  }
}

void world::start_client(int place) {
  const auto p = static_cast<std::size_t>(place);
  if (clients_[p]) ended_.push_back(std::move(clients_[p]));
  const std::size_t on = host_of(place);
  clients_[p] = std::make_unique<client>(*this, place, sessions_++, client_clocks_[on], notes_[on],
                                         operator_->ttl_of_next());
  clients_[p]->start();
}

outcome world::run() {
  for (int i = 0; i < setup.clients; ++i) start_client(i);
  start_faults();
  while (!judge.found() && time.step(setup.length)) {
  }
  const std::uint64_t under_faults = judge.grants();
  heal();
  time.at(time.now() + rest_limit(), [this] {
    if (!all_vote()) judge.violated("a node does not vote though nothing fails" + roll_call());
  });
  const moment limit = time.now() + turn_limit;
  while (!judge.found() && !everybody_was_granted()) {
    if (!time.step(limit)) judge.violated("somebody waits for longer than a minute" + roll_call());
  }
  drain();
  outcome o;
  o.steps = time.steps();
  o.grants = judge.grants();
  o.grants_under_faults = under_faults;
  o.rejoins = rejoins_;
  o.digest = events.digest();
  o.found = judge.found();
  if (o.found) o.last_events = events.last(60);
  return o;
}

server_time world::wall_of(const host& h) const {
  const duration shown = h.wall.read(time.now()).time_since_epoch() + h.offset;
  return std::chrono::duration_cast<server_time>(shown);
}

rl::node_facts world::facts_of(rl::node_index i) const {
  const host& h = hosts_[i];
  rl::node_facts f;
  f.address = "node" + std::to_string(i);
  f.run_id = h.run_id;
  f.durable = h.durable;
  f.record = h.server.record();
  return f;
}

duration world::distance(rl::node_index i) const {
  return is_far(i) ? setup.node_timeout * 3 / 4 : 0ms;
}

duration world::delay() {
  const bool slow = !healed_ && dice.chance(setup.slow);
  return dice.between(100us, slow ? setup.ttl : setup.way_most);
}

duration world::way(rl::node_index i) { return distance(i) + delay(); }

/// A distance delays everything alike: what follows closely arrives closely.
moment world::arrival(rl::node_index i, moment last, moment from) {
  return std::max(last, from + distance(i)) + delay();
}

bool world::is_excluded(const host& h, const rl::write& w) {
  const auto& before = h.server.record();
  const bool alone = before && w.record.nonce == before->nonce && w.record.epoch > 0 &&
                     w.record.epoch == before->epoch && w.record.run_id != before->run_id;
  return h.lost && alone;
}

void world::wrote(host& h, const std::optional<node_record>& before, moment sent) {
  const auto& record = h.server.record();
  note_record(h);
  node_record same = *record;
  if (before) same.last_time = before->last_time;
  h.rewrites = before == same ? h.rewrites + 1 : 0;
  if (h.rewrites > rewrites_most) judge.violated("a record is written again and again");
  const bool put_out = record->epoch == 0 && (!before || before->nonce != record->nonce);
  if (put_out) events.note(time.now(), "put out", &h - hosts_.data());
  if (put_out && h.suffered == 0 && setup.judges_records) {
    judge.violated("node " + std::to_string(&h - hosts_.data()) +
                   " is put out, and nothing happened to it");
  }
  if (put_out && h.suffered > 0) --h.suffered;
  // Who sent that may have looked before the step, and see it later.
  if (put_out) h.seen_later = h.stepped && sent < h.stepped_at + setup.node_timeout;
  if (!record || record->epoch == 0 || record->run_id != h.run_id) return;
  if (h.lost) {
    ++rejoins_;
    if (!healed_ && dice.chance(setup.unseals)) unseal(static_cast<rl::node_index>(&h - &at(0)));
  }
  events.note(time.now(), "rejoined: node, epoch, floor", &h - hosts_.data(),
              static_cast<std::int64_t>(record->epoch), static_cast<std::int64_t>(record->floor));
  h.lost = false;
  // Another write may have been under way: only the fresh nonce shows that the step was seen.
  if (record->nonce != h.nonce_stepped) h.stepped = false;
  h.suffered = h.stepped || h.seen_later ? 1 : 0;
}

void world::took_for_recorded(rl::node_index i, const node_record& r) {
  if (!setup.judges_records) return;
  const auto had = [&](const host& h) { return h.recorded.contains({r.nonce, r.epoch}); };
  // Its name may have led to another node.
  if (had(hosts_[i]) || std::any_of(hosts_.begin(), hosts_.end(), had)) return;
  judge.violated("a client takes for recorded at node " + std::to_string(i) +
                 " what no node ever had: epoch " + std::to_string(r.epoch));
}

std::size_t world::others_valid(const contender& c) const {
  const auto others = std::count_if(clients_.begin(), clients_.end(), [&](const auto& other) {
    const contender& o = other->of_lock(c.lock());
    return &o != &c && o.valid();
  });
  return static_cast<std::size_t>(others);
}

void world::judge_grant(const contender& c) {
  judge.granted(c.as_holder(), c.began(), others_valid(c));
}

void world::judge_holder(const contender& c) { judge.goes_on(c.as_holder(), others_valid(c)); }

void world::replace(int place) {
  if (closing_) return;
  events.note(time.now(), "replaced", place);
  watch_what_is_left(*clients_[static_cast<std::size_t>(place)]);
  clients_[static_cast<std::size_t>(place)]->die();
  start_client(place);
}

void world::watch_what_is_left(const client& c) {
  ++deaths_;
  if (!setup.frees) return;
  for (const auto& k : c.contenders()) {
    if (!k->valid()) continue;
    time.at(time.now() + freed_in_ttls * setup.ttl,
            [this, lock = k->lock(), then = time.now(), deaths = deaths_] {
              // A client that died since may have left keys, too.
              if (deaths_ == deaths && !closing_) judge.died(lock, then);
            });
  }
}

/// Enough for every wait and for all that brings nodes back, and to give back what is owed.
duration world::rest_limit() const noexcept { return 10s + 200 * setup.node_timeout; }

bool world::all_vote() const {
  rl::node_set every;
  for (rl::node_index i = 0; i < hosts_.size(); ++i) {
    if (!hosts_[i].gone) every.add(i);
  }
  return std::all_of(clients_.begin(), clients_.end(),
                     [&](const auto& c) { return c->nodes().voters() == every; });
}

bool world::everybody_was_granted() const {
  return std::all_of(clients_.begin(), clients_.end(), [](const auto& c) {
    return std::all_of(c->contenders().begin(), c->contenders().end(),
                       [](const auto& k) { return k->granted_since_healed(); });
  });
}

std::string world::roll_call() const {
  std::string text;
  for (const auto& c : clients_) {
    for (rl::node_index i = 0; i < hosts_.size(); ++i) {
      text += "; client " + std::to_string(c->place()) + ": node " + std::to_string(i) + " " +
              c->nodes().explain(i);
    }
  }
  return text;
}

/// Everybody gives back what they have; then nothing may be left but the records.
void world::drain() {
  closing_ = true;
  for (const auto& c : clients_) c->close();
  const moment limit = time.now() + rest_limit();
  while (!judge.found() && time.step(limit)) {
  }
  if (judge.found()) return;
  if (time.waiting() > 0)
    judge.violated("something still happens long after the end" + roll_call());
  for (host& h : hosts_) {
    const auto i = static_cast<rl::node_index>(&h - hosts_.data());
    // What a clock that was set back keeps alive is not judged.
    const bool stepped = setup.clock_steps > duration::zero();
    h.server.set_time(wall_of(h) + (stepped ? 1'000'000s : 0s));
    const std::string name = "node " + std::to_string(i);
    if (h.server.size() > 0) judge.violated(name + " has keys left long after the end");
    if (h.gone) continue;
    for (const auto& c : clients_) {
      if (!c->nodes().intact().has(i)) judge.violated(name + " " + c->nodes().explain(i));
    }
  }
  for (const auto& c : clients_) {
    for (const auto& k : c->contenders()) {
      if (k->releases_owed() > 0) judge.violated("a release is still owed long after the end");
    }
  }
}

}  // namespace holdfast::sim::redlock
