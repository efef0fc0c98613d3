#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace holdfast::sim::redlock {

/// What may happen in a run. Chances are per million messages, spans the mean time between two
/// faults of a kind; zero is never.
struct scenario {
  std::string_view name;
  std::string_view about;
  /// Until the last fault, in a hundred runs: about a third of what there are.
  std::uint64_t grants_least{};
  int nodes{3};
  int clients{3};
  int locks{2};
  bool tokens{true};
  bool one_user{};  ///< On one host: the clients have one clock and one file of notes.
  /// Of all sessions, and the nodes' max_ttl; the shortest of both where recovers change them.
  duration ttl{std::chrono::milliseconds{400}};
  duration node_timeout{std::chrono::milliseconds{20}};
  duration length{std::chrono::seconds{6}};  ///< Of the faulty phase.
  duration hold_least{std::chrono::milliseconds{1}};
  duration hold_most{std::chrono::milliseconds{100}};
  duration rest_most{std::chrono::milliseconds{30}};
  duration way_most{std::chrono::milliseconds{2}};  ///< Of a message, one way.

  int far{};  ///< So many nodes never answer within a node timeout, also when all is healed.

  int slow{};      ///< The way takes up to a ttl.
  int reset{};     ///< The connection breaks; what was sent may still be read, late.
  int hits{};      ///< Of grants: the node loses its state just after.
  int splits{};    ///< Of attempts: one node is reached at once, most late, the others long after.
  int stale{};     ///< Of attempts: who votes was read up to a ttl before they are sent.
  int overlong{};  ///< Of attempts: they ask for four times the ttl that the records allow.
  int late_raises{};  ///< Of raises: they are sent up to a node timeout after they are wanted.
  int joined{};   ///< Of losses: when the wait is over another, durable node has an older state.
  int unseals{};  ///< Of rejoins: another node then has what it had before it was sealed for it.
  int forget{};   ///< The node forgets the cached counter of a lock.
  int disk_failures{};  ///< Of attempts to keep notes.

  int durable{};          ///< So many nodes sync every write.
  bool durable_last{};    ///< Those of the end of the list: a client brings others back first.
  duration losses{};      ///< A node loses its state, or has an older one again.
  duration restarts{};    ///< A durable node restarts.
  duration settings{};    ///< A node restarts and syncs no more, or does again.
  duration disk_hangs{};  ///< Of the clients' notes, up to so many ttls:
  int hang_most_in_ttls{4};
  duration unloads{};      ///< A node forgets its scripts.
  duration backups{};      ///< A durable node restarts with an older state.
  duration clock_steps{};  ///< Of a node's wall clock.
  duration outages{};      ///< A node is unreachable for all, up to outage_most.
  duration outage_most{std::chrono::milliseconds{800}};
  /// A node loses its state while another one is away and a client is replaced.
  duration power_cuts{};
  duration cuts{};  ///< One client does not reach one node, up to so many ttls:
  int cut_most_in_ttls{2};
  duration misroutes{};  ///< A proxy carries a connection to another node, up to a ttl.
  duration damages{};    ///< A node's floor or epoch is one that nobody gives.
  duration evictions{};  ///< A lock's key disappears from one node.
  duration pauses{};     ///< A client stands still for up to two ttls.
  duration crashes{};    ///< A client dies and another process takes its place.
  duration denials{};    ///< Somebody denies a session.
  duration recovers{};   ///< An operator changes max_ttl: `holdfast redlock recover --max-ttl`.
  /// A majority of nodes or all have older states again, until an operator runs `recover`.
  duration disasters{};
  duration clocks_apart{std::chrono::seconds{1000}};  ///< The nodes' wall clocks, at first.
  /// A session that no majority keeps any more is over, and its process begins another one: what
  /// denies it denies it for good.
  bool sessions_end{};
  bool gone{};  ///< When all else is healed, so many nodes are gone for good as may be.

  /// False where the faults go beyond what exclusion is promised for, as with evictions: then only
  /// the tokens are judged.
  bool exclusive{true};
  /// A holder that lost a majority of its keys must find out within a ttl, whatever took them.
  bool gaps_end{};
  /// What a client held that died is somebody else's within two ttls.
  bool frees{};
  /// Why records are written, and which client goes by which, is judged, too. Not where a rule is
  /// removed that keeps a promise: what breaks that is what has to be found.
  bool judges_records{true};
};

std::span<const scenario> scenarios();
/// Where only tokens and records are judged; of those, the last.
void add_beyond_exclusion(std::vector<scenario>& all);
std::optional<scenario> find_scenario(std::string_view name);

}  // namespace holdfast::sim::redlock
