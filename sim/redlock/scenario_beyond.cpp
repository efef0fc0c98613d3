#include "sim/redlock/scenario.hpp"

/// Those with more faults than exclusion is promised for.

namespace holdfast::sim::redlock {

namespace {

using namespace std::chrono_literals;

/// Durable nodes go by what an older file says, which is more than exclusion is promised for.
void add_older_states(std::vector<scenario>& all) {
  all.push_back({.name = "older",
                 .about = "an older state again, while who lost its own is brought back",
                 .grants_least = 850,
                 .nodes = 5,
                 .clients = 4,
                 .locks = 1,
                 .ttl = 200ms,
                 .node_timeout = 100ms,
                 .length = 5s,
                 .hold_most = 10ms,
                 .rest_most = 100ms,
                 .hits = 300'000,
                 .splits = 300'000,
                 .joined = 1'000'000,
                 .durable = 3,
                 .durable_last = true,
                 .outage_most = 390ms,  // Nobody is alone before 400 ms.
                 .crashes = 200ms,
                 .exclusive = false});
}

/// More than exclusion is promised for: only the tokens are.
void add_more(std::vector<scenario>& all) {
  all.push_back({.name = "backups",
                 .about = "durable nodes with an older state, which only the tokens survive",
                 .grants_least = 700,
                 .clients = 4,
                 .node_timeout = 300ms,
                 .length = 3s,
                 .hold_most = 20ms,
                 .slow = 30'000,
                 .reset = 10'000,
                 .hits = 20'000,
                 .splits = 20'000,
                 .forget = 100'000,
                 .durable = 3,
                 .restarts = 500ms,
                 .backups = 200ms,
                 .exclusive = false});
  all.push_back({.name = "recovered",
                 .about = "all nodes or most have older states, and an operator runs recover",
                 .grants_least = 3500,
                 .node_timeout = 50ms,
                 .hold_most = 50ms,
                 .slow = 10'000,
                 .reset = 10'000,
                 .forget = 50'000,
                 .losses = 500ms,
                 .crashes = 2s,
                 .disasters = 1500ms,
                 .clocks_apart = 20ms,
                 .exclusive = false});
  all.push_back({.name = "evictions",
                 .about = "keys that disappear, which only the tokens survive",
                 .grants_least = 3700,
                 .node_timeout = 100ms,
                 .length = 3s,
                 .hold_most = 20ms,
                 .slow = 20'000,
                 .forget = 200'000,
                 .evictions = 2ms,
                 .exclusive = false});
  all.push_back({.name = "gaps",
                 .about = "keys that disappear one by one while their holder goes on",
                 .grants_least = 1400,
                 .hold_least = 20ms,
                 .hold_most = 3s,
                 .evictions = 40ms,
                 .exclusive = false,
                 .gaps_end = true});
  all.push_back({.name = "wide_gaps",
                 .about = "keys of five nodes that disappear one by one",
                 .grants_least = 550,
                 .nodes = 5,
                 .hold_least = 20ms,
                 .hold_most = 3s,
                 .evictions = 40ms,
                 .exclusive = false,
                 .gaps_end = true});
}

}  // namespace

void add_beyond_exclusion(std::vector<scenario>& all) {
  add_older_states(all);
  add_more(all);
}

}  // namespace holdfast::sim::redlock
