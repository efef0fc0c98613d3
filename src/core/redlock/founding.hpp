#pragma once

#include "core/redlock/node_record.hpp"
#include "core/redlock/rejoin.hpp"

#include <holdfast/error.hpp>

#include <span>
#include <string>
#include <vector>

namespace holdfast::core::redlock {

/// What an operator decides when the nodes cannot: the first records of a store, and new ones after
/// a majority lost theirs. Pure: plans the writes, each of which is done by compare.
namespace founding {

struct node {
  bool answered{};
  bool votes{};  ///< By what its record says now.
  node_facts facts{};
  server_time at{};     ///< Its TIME.
  std::string fresh{};  ///< A nonce from the kernel.
  /// Not answered: its address, and why it cannot be used, when that is known.
  std::string trouble{};
};
struct config {
  std::string config_hash{};
  duration max_ttl{};
  bool changes_max_ttl{};  ///< recover: it was asked for, and is a reason of its own.
  bool other_list{};       ///< recover: nodes of a store with another list are taken over.
};

/// `holdfast redlock init`: every node answers and none has a record. Other keys are no obstacle.
/// Tokens and epochs start at wall-clock microseconds, above those of a store that was here
/// before.
result<std::vector<write>> plan_init(const config& c, std::span<const node> nodes);

/// `holdfast redlock recover`: a majority answers; whatever they have left counts. What is given
/// up: locks that are held now may be granted again, and a token that was given before stays
/// smaller only if no clock was ever set back by more than the store's age. The epoch is a new
/// one by the same clocks, so that counters which older files bring back count for nothing. A
/// node that belongs to another list of nodes is taken from that store, and only where that is
/// asked for. Where a majority votes, what a node that does not vote has lost would be granted
/// again while others count it: `busy`, also when max_ttl is to be changed and that node answers.
/// When all vote and nothing is to be changed there is nothing to write.
result<std::vector<write>> plan_recover(const config& c, std::span<const node> nodes);

}  // namespace founding

}  // namespace holdfast::core::redlock
