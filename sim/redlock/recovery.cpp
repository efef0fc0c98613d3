#include "sim/redlock/recovery.hpp"

#include "core/redlock/founding.hpp"
#include "sim/redlock/client.hpp"
#include "sim/redlock/driver_rules.hpp"

#include <algorithm>

namespace holdfast::sim::redlock {

namespace rl = core::redlock;
using namespace std::chrono_literals;

namespace {

constexpr int longest = 8;  ///< Of max_ttl, in those of the beginning.

/// What the program makes of the nodes that it sees.
std::vector<rl::founding::node> nodes_of(client& c) {
  std::vector<rl::founding::node> nodes;
  for (rl::node_index i = 0; i < c.of().nodes(); ++i) {
    const roster& seen = c.nodes();
    rl::founding::node n;
    n.answered = c.up(i) && seen.standing_of(i) != rl::admission::standing::away;
    n.votes = n.answered && seen.voters().has(i);
    n.facts = seen.facts_of(i);
    n.at = n.facts.at;
    n.fresh = std::string("n") + std::to_string(c.of().fresh());
    nodes.push_back(std::move(n));
  }
  return nodes;
}

}  // namespace

recovery::recovery(world& w) : world_(w), wanted_(w.setup.ttl), allowed_(w.setup.ttl) {}

recovery::~recovery() = default;

void recovery::run() {
  if (now_ || lost_most_) return;
  const duration first = world_.setup.ttl;
  // What is not everywhere may stay so for long.
  if (all_have(wanted_) || world_.dice.chance(500'000)) {
    const int times = world_.dice.chance(500'000) ? longest : 2;
    wanted_ = wanted_ < longest * first ? std::min(wanted_ * times, longest * first) : first;
  }
  begin();
}

void recovery::bring_back() {
  lost_most_ = true;
  // A command that runs saw the nodes before.
  if (now_) return leave();
  try_later();
}

/// Mostly after the clients have named what was lost.
void recovery::try_later() {
  const duration ttl = world_.setup.ttl;
  world_.time.at(world_.time.now() + world_.dice.between(0s, ttl / 2), [this] {
    if (lost_most_ && !now_) begin();
  });
}

void recovery::begin() {
  const auto place = static_cast<int>(world_.setup.clients);
  notes_ = {};
  now_ = std::make_unique<client>(world_, place, ++runs_, clock_, notes_, 0s);
  const duration timeout = world_.setup.node_timeout;
  if (!world_.healed() && world_.dice.chance(800'000)) {
    const auto away = static_cast<rl::node_index>(world_.dice.index(world_.nodes()));
    now_->cut_off(away, world_.time.now() + 10 * timeout);
  }
  now_->start();
  now_->post(world_.time.now() + world_.dice.between(timeout / 4, 3 * timeout),
             [this] { write(); });
}

void recovery::write() {
  const auto nodes = nodes_of(*now_);
  const auto votes = static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const auto& n) { return n.votes; }));
  const bool most_vote = votes >= rl::majority(nodes.size());
  rl::founding::config c;
  c.config_hash = "list";
  c.max_ttl = wanted_;
  c.changes_max_ttl = !lost_most_;
  const auto writes = rl::founding::plan_recover(c, nodes);
  if (most_vote == lost_most_) {
    lost_most_ = false;
    return leave();
  }
  if (!writes) return leave();
  world_.events.note(world_.time.now(), "recover: max_ttl in ms, nodes", in_ms(wanted_).count(),
                     static_cast<std::int64_t>(writes->size()));
  if (is_shorter()) stop_holders();
  written_ = 0;
  for (const rl::write& w : *writes) {
    now_->nodes().write(w, [this](rl::write_reply r) {
      if (r == rl::write_reply::written) ++written_;
    });
  }
  now_->post(world_.time.now() + world_.setup.node_timeout + 1ms, [this] { end(); });
}

/// Whoever takes their place begins with what every node allows.
void recovery::stop_holders() {
  allowed_ = wanted_;
  if (!drivers.stop_before_lowering) return;
  for (int place = 0; place < world_.setup.clients; ++place) world_.replace(place);
}

void recovery::end() {
  const bool most = written_ >= rl::majority(world_.nodes());
  const bool restarts = most && (lost_most_ || wanted_ > allowed_);
  leave();
  if (!restarts) return;
  allowed_ = wanted_;
  for (int place = 0; place < world_.setup.clients; ++place) {
    if (world_.dice.chance(600'000)) world_.replace(place);
  }
}

void recovery::node_ended(rl::node_index i) {
  if (now_) now_->node_ended(i);
}

void recovery::heal() {
  if (now_) leave();
}

void recovery::leave() {
  now_->die();
  ended_.push_back(std::move(now_));
  if (lost_most_) try_later();
}

bool recovery::all_have(duration max_ttl) const {
  for (rl::node_index i = 0; i < world_.nodes(); ++i) {
    const auto& record = world_.at(i).server.record();
    if (!record || record->max_ttl != max_ttl) return false;
  }
  return true;
}

duration recovery::ttl_of_next() {
  const bool changes = world_.setup.recovers > 0s && allowed_ != world_.setup.ttl;
  return changes && world_.dice.chance(700'000) ? allowed_ : world_.setup.ttl;
}

}  // namespace holdfast::sim::redlock
