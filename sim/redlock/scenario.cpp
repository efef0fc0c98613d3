#include "sim/redlock/scenario.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::sim::redlock {

namespace {

using namespace std::chrono_literals;

/// Nothing loses state.
void add_network_faults(std::vector<scenario>& all) {
  all.push_back({.name = "calm",
                 .about = "contention and forgotten counters",
                 .grants_least = 2000,
                 .length = 2s,
                 .forget = 20'000});
  all.push_back({.name = "slow",
                 .about = "answers that take up to a ttl",
                 .grants_least = 550,
                 .node_timeout = 300ms,
                 .hold_most = 1s,
                 .slow = 50'000,
                 .reset = 10'000,
                 .forget = 20'000,
                 .cuts = 300ms,
                 .pauses = 1s});
  all.push_back({.name = "partitions",
                 .about = "clients that do not reach every node",
                 .grants_least = 700,
                 .nodes = 5,
                 .length = 3s,
                 .hold_most = 500ms,
                 .reset = 5'000,
                 .cuts = 50ms});
  all.push_back({.name = "proxies",
                 .about = "connections that lead to another node for a while",
                 .grants_least = 600,
                 .hold_most = 2s,
                 .cuts = 200ms,
                 .misroutes = 50ms});
  all.push_back({.name = "scripts",
                 .about = "nodes that forget their scripts",
                 .grants_least = 1250,
                 .hold_most = 600ms,
                 .reset = 10'000,
                 .unloads = 20ms,
                 .cuts = 300ms});
  all.push_back({.name = "denials",
                 .about = "sessions that somebody denies",
                 .grants_least = 700,
                 .hold_most = 2s,
                 .cuts = 300ms,
                 .pauses = 500ms,
                 .denials = 300ms});
}

/// For so long that clocks within rho of each other come apart by more than a message takes.
void add_drift(std::vector<scenario>& all) {
  all.push_back({.name = "drift",
                 .about = "long leases of holders that stand still",
                 .grants_least = 300,
                 .locks = 1,
                 .ttl = 2s,
                 .length = 30s,
                 .hold_least = 1s,
                 .hold_most = 8s,
                 .pauses = 500ms});
}

void add_deaths(std::vector<scenario>& all) {
  all.push_back({.name = "deaths",
                 .about = "holders that die, and nothing else",
                 .grants_least = 450,
                 .hold_most = 2s,
                 .forget = 20'000,
                 .crashes = 1s,
                 .frees = true});
}

/// A minority of the nodes loses state.
void add_losses(std::vector<scenario>& all) {
  all.push_back({.name = "amnesia",
                 .about = "nodes that lose their state, or have an older one again",
                 .grants_least = 900,
                 .hold_most = 600ms,
                 .reset = 10'000,
                 .forget = 20'000,
                 .losses = 300ms,
                 .cuts = 200ms,
                 .pauses = 1s,
                 .recovers = 2s});
  all.push_back({.name = "outages",
                 .about = "some nodes lose their state while others are away",
                 .grants_least = 2000,
                 .nodes = 5,
                 .length = 10s,
                 .hold_most = 50ms,
                 .reset = 5'000,
                 .losses = 200ms,
                 .outages = 100ms,
                 .outage_most = 2s});
  all.push_back({.name = "even",
                 .about = "four nodes, of which one may lose its state",
                 .grants_least = 1000,
                 .nodes = 4,
                 .hold_most = 300ms,
                 .reset = 10'000,
                 .losses = 500ms,
                 .outages = 1s,
                 .cuts = 300ms,
                 .recovers = 2s});
  all.push_back({.name = "late_after_loss",
                 .about = "losses just after a grant, while other answers are late",
                 .grants_least = 350,
                 .clients = 2,
                 .locks = 1,
                 .node_timeout = 100ms,
                 .length = 5s,
                 .hold_most = 20ms,
                 .rest_most = 900ms,
                 .hits = 100'000,
                 .splits = 300'000,
                 .exclusive = false});
  all.push_back({.name = "restarts",
                 .about = "durable nodes that restart while others are away",
                 .grants_least = 4000,
                 .hold_most = 20ms,
                 .forget = 300'000,
                 .durable = 3,
                 .restarts = 200ms,
                 .outages = 300ms,
                 .outage_most = 1500ms});
  all.push_back({.name = "gone",
                 .about = "clients that die while they bring nodes back, before some go for good",
                 .grants_least = 3000,
                 .length = 3s,
                 .hold_most = 20ms,
                 .reset = 20'000,
                 .durable = 3,
                 .restarts = 200ms,
                 .outages = 300ms,
                 .crashes = 200ms,
                 .gone = true});
}

/// Requests and records that are out of range.
void add_numbers(std::vector<scenario>& all) {
  all.push_back({.name = "overlong",
                 .about = "clients that ask for more than max_ttl, and nodes that lose their state",
                 .grants_least = 750,
                 .hold_most = 1s,
                 .overlong = 100'000,
                 .losses = 300ms,
                 .cuts = 200ms,
                 .pauses = 500ms});
  all.push_back({.name = "damaged",
                 .about = "nodes whose floor or epoch is one that nobody gives",
                 .grants_least = 1150,
                 .hold_most = 600ms,
                 .reset = 10'000,
                 .forget = 20'000,
                 .cuts = 300ms,
                 .damages = 300ms,
                 .pauses = 1s});
}

/// What else may happen to a session or its scripts meets nodes that lose what they know of it.
void add_losses_and_more(std::vector<scenario>& all) {
  all.push_back({.name = "denials_lost",
                 .about = "sessions that somebody denies, and nodes that lose their state",
                 .grants_least = 600,
                 .nodes = 5,
                 .hold_most = 2s,
                 .reset = 10'000,
                 .durable = 2,
                 .losses = 400ms,
                 .restarts = 400ms,
                 .outages = 500ms,
                 .cuts = 300ms,
                 .pauses = 500ms,
                 .denials = 200ms});
  all.push_back({.name = "denials_lost_of_three",
                 .about = "the same, where both nodes that deny may be needed",
                 .grants_least = 700,
                 .hold_most = 2s,
                 .losses = 400ms,
                 .cuts = 300ms,
                 .pauses = 500ms,
                 .denials = 200ms});
  all.push_back({.name = "sessions",
                 .about = "the same, and sessions that end when no majority keeps them",
                 .grants_least = 700,
                 .hold_most = 2s,
                 .losses = 400ms,
                 .cuts = 300ms,
                 .pauses = 500ms,
                 .denials = 200ms,
                 .sessions_end = true});
  all.push_back({.name = "scripts_lost",
                 .about = "nodes that forget their scripts, or their state with them",
                 .grants_least = 1900,
                 .hold_most = 300ms,
                 .reset = 10'000,
                 .durable = 1,
                 .losses = 500ms,
                 .restarts = 500ms,
                 .unloads = 20ms,
                 .cuts = 300ms,
                 .crashes = 1s});
}

/// Distance is no fault: it stays when all else is healed.
void add_distance(std::vector<scenario>& all) {
  all.push_back({.name = "far",
                 .about = "nodes that restart while others never answer in time",
                 .grants_least = 3500,
                 .nodes = 5,
                 .hold_most = 50ms,
                 .far = 2,
                 .durable = 2,
                 .losses = 500ms,
                 .restarts = 500ms,
                 .crashes = 2s});
}

/// Also of nodes that lose their state, before that was seen and after.
void add_clock_steps(std::vector<scenario>& all) {
  all.push_back({.name = "clocks",
                 .about = "wall clocks that step, by much or little",
                 .grants_least = 850,
                 .hold_most = 600ms,
                 .reset = 10'000,
                 .clock_steps = 200ms,
                 .cuts = 300ms});
  all.push_back({.name = "clocks_lost",
                 .about = "wall clocks that step, and nodes that lose their state",
                 .grants_least = 1150,
                 .hold_most = 600ms,
                 .reset = 5'000,
                 .forget = 20'000,
                 .durable = 1,
                 .losses = 500ms,
                 .restarts = 500ms,
                 .clock_steps = 250ms,
                 .cuts = 400ms,
                 .pauses = 1s});
  all.push_back({.name = "clocks_even",
                 .about = "the same, of four nodes",
                 .grants_least = 1500,
                 .nodes = 4,
                 .hold_most = 300ms,
                 .reset = 10'000,
                 .durable = 1,
                 .losses = 500ms,
                 .restarts = 500ms,
                 .clock_steps = 300ms,
                 .outages = 1s,
                 .cuts = 300ms});
  all.push_back({.name = "clocks_of_five",
                 .about = "the same, of five, two of which may be out",
                 .grants_least = 1000,
                 .nodes = 5,
                 .hold_most = 600ms,
                 .reset = 5'000,
                 .forget = 20'000,
                 .durable = 2,
                 .losses = 600ms,
                 .restarts = 600ms,
                 .clock_steps = 300ms,
                 .outages = 1s,
                 .cuts = 400ms,
                 .pauses = 1s});
}

/// What is written into records meets what else happens to their nodes. A client whose first look
/// at a node is slow did not watch the clock there: exclusion is not promised.
void add_records(std::vector<scenario>& all) {
  all.push_back({.name = "records",
                 .about = "clocks that step while slow connections carry records",
                 .grants_least = 75,
                 .node_timeout = 300ms,
                 .hold_most = 600ms,
                 .slow = 100'000,
                 .reset = 10'000,
                 .durable = 3,
                 .restarts = 300ms,
                 .clock_steps = 200ms,
                 .cuts = 300ms,
                 .exclusive = false});
}

/// max_ttl is changed, and nodes come back with what they had before.
void add_changes(std::vector<scenario>& all) {
  all.push_back({.name = "max_ttl",
                 .about = "an operator who changes max_ttl while nodes lose their state",
                 .grants_least = 700,
                 .ttl = 200ms,
                 .length = 10s,
                 .hold_most = 4s,
                 .outage_most = 500ms,
                 .power_cuts = 600ms,
                 .cuts = 300ms,
                 .cut_most_in_ttls = 4,
                 .recovers = 800ms});
}

/// Some of everything.
void add_mixtures(std::vector<scenario>& all) {
  all.push_back({.name = "plain",
                 .about = "no tokens",
                 .grants_least = 1800,
                 .tokens = false,
                 .hold_most = 300ms,
                 .slow = 10'000,
                 .reset = 10'000,
                 .losses = 1s,
                 .cuts = 500ms,
                 .pauses = 1s,
                 .crashes = 2s});
  all.push_back({.name = "notes",
                 .about = "no tokens, and notes of nodes that are kept late",
                 .grants_least = 400,
                 .tokens = false,
                 .one_user = true,
                 .hold_most = 600ms,
                 .disk_failures = 300'000,
                 .durable = 3,
                 .restarts = 500ms,
                 .settings = 300ms,
                 .disk_hangs = 500ms,
                 .cuts = 200ms,
                 .cut_most_in_ttls = 4,
                 .pauses = 1s,
                 .crashes = 500ms});
  all.push_back({.name = "mixed",
                 .about = "some of everything that a minority may suffer",
                 .grants_least = 2700,
                 .nodes = 5,
                 .slow = 10'000,
                 .reset = 5'000,
                 .forget = 20'000,
                 .durable = 2,
                 .losses = 1s,
                 .restarts = 1s,
                 .outages = 2s,
                 .cuts = 1s,
                 .misroutes = 500ms,
                 .pauses = 1s,
                 .crashes = 2s,
                 .recovers = 1s});
}

/// Requests that leave over another connection than the one that their node was judged on, or that
/// carried what came before. `unsealed` restores durable nodes: only its tokens are promised.
void add_replaced_connections(std::vector<scenario>& all) {
  all.push_back({.name = "stale",
                 .about = "no tokens, and requests that leave long after who votes was read",
                 .grants_least = 1900,
                 .tokens = false,
                 .hold_most = 300ms,
                 .reset = 10'000,
                 .hits = 20'000,
                 .stale = 300'000,
                 .losses = 500ms,
                 .cuts = 500ms,
                 .crashes = 2s});
  all.push_back({.name = "unsealed",
                 .about = "durable nodes that forget a seal, while raises are late",
                 .grants_least = 900,
                 .clients = 2,
                 .locks = 1,
                 .ttl = 150ms,
                 .node_timeout = 90ms,
                 .length = 5s,
                 .hold_most = 20ms,
                 .way_most = 3ms,
                 .reset = 50'000,
                 .hits = 300'000,
                 .splits = 20'000,
                 .late_raises = 900'000,
                 .unseals = 500'000,
                 .durable = 3,
                 .backups = 500ms,
                 .exclusive = false});
}

std::vector<scenario> all_scenarios() {
  std::vector<scenario> all;
  add_network_faults(all);
  add_drift(all);
  add_deaths(all);
  add_losses(all);
  add_numbers(all);
  add_losses_and_more(all);
  add_distance(all);
  add_clock_steps(all);
  add_records(all);
  add_changes(all);
  add_mixtures(all);
  add_replaced_connections(all);
  add_beyond_exclusion(all);
  return all;
}

}  // namespace

std::span<const scenario> scenarios() {
  static const std::vector<scenario> all = all_scenarios();
  return all;
}

std::optional<scenario> find_scenario(std::string_view name) {
  const auto all = scenarios();
  const auto there =
      std::find_if(all.begin(), all.end(), [&](const scenario& s) { return s.name == name; });
  if (there == all.end()) return std::nullopt;
  return *there;
}

}  // namespace holdfast::sim::redlock
