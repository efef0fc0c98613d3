#pragma once

#include "core/redlock/rules.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/token.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::core::redlock {

/// A server's own TIME: microseconds of its wall clock, which may step.
using server_time = std::chrono::microseconds;

/// Half of what there is, and the largest token and epoch that a node gives. Neither a clock that
/// is far off nor a damaged record may use up all tokens, or all epochs: above an epoch there has
/// to be another one, and the largest floor that any node tells becomes that of the others.
inline constexpr std::uint64_t believable = token_max.value / 2;

/// `holdfast:node`: what one node remembers about itself. It has no ttl, so losing it means that
/// locks may be lost as well.
struct node_record {
  std::string id{};       ///< Of the node, given by init; two nodes never share one.
  std::string nonce{};    ///< Of this life of its data. Every script compares it.
  std::uint64_t epoch{};  ///< Zero: it waits, and no script grants or extends.
  std::string run_id{};   ///< Of the process that was admitted; its core::server_life().
  std::uint64_t floor{};  ///< No token of any lock was above it.
  duration max_ttl{};
  server_time last_time{};
  std::string config_hash{};  ///< Of the list of nodes.
  /// Epoch zero after a step of its clock alone: the epoch that it had, for all else is there.
  std::uint64_t kept_epoch{};
  bool durable{};  ///< It was verified to sync every write when it was last looked at.
  friend bool operator==(const node_record&, const node_record&) = default;
};

/// Its floor and epochs were given by somebody, and are no damage.
inline bool is_believable(const node_record& r) noexcept {
  if (!active.damage_is_loss) return true;
  return r.floor <= believable && r.epoch <= believable && r.kept_epoch <= believable;
}

/// What a client reads of a node when it connects, before the node may vote.
struct node_facts {
  std::string address{};  ///< For messages.
  std::string run_id{};   ///< As in the record.
  bool master{true};
  bool standalone{true};  ///< Neither a sentinel nor of a cluster.
  std::string unsafe{};   ///< Why it may drop what it keeps, where that is not accepted.
  bool durable{};         ///< `appendfsync always` and nothing that weakens it, verified now.
  /// So it would be, but for a rewrite of its file, in which nothing tells: what was known of this
  /// process before counts.
  bool rewriting{};
  std::optional<node_record> record{};
  server_time at{};    ///< Its TIME with the record; zero when it was not read with one.
  time_point asked{};  ///< When that was asked for: the record was there later.
};

/// For people: why a server of its kind, or set up so, can be no node of any store; empty when it
/// can.
std::string misfit_of_kind(const node_facts& f);

}  // namespace holdfast::core::redlock
