#pragma once

#include "core/redlock/quorum.hpp"

#include <holdfast/clock.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::core::redlock {

/// Which server grants as which node. Pure.
///
/// Names and proxies may lead two nodes to one server, or a node to another server than before. A
/// server that was accepted as one node is no other node's until nothing that it granted as the
/// first can count any more: a longest ttl after that node was there last, or led elsewhere.
///
/// Thread safety: none; one owner.
class server_claims {
 public:
  struct server {
    std::string run_id{};
    std::string record_id{};  ///< Empty without a record; else a copy has it, too.
    friend bool operator==(const server&, const server&) = default;
  };
  /// A node that a server belongs to.
  struct claimant {
    node_index node{};
    bool is_copy{};  ///< By its record alone: it is another process.
  };

  /// `max_ttl`: the least that any server is taken to have granted for, whatever its record says.
  explicit server_claims(duration max_ttl) noexcept : max_ttl_(max_ttl) {}

  /// `s` is accepted as this node; `max_ttl` as its record says, zero without. True: another one
  /// was before.
  bool settle(node_index i, const server& s, duration max_ttl, time_point now);
  /// The node does not grant any more; the first time since it did counts.
  void leave(node_index i, time_point now) noexcept;
  /// The other node that a server belongs to.
  std::optional<claimant> elsewhere(node_index i, const server& s, time_point now) const noexcept;

 private:
  struct stay {
    node_index node{};
    server who{};
    duration max_ttl{};
    time_point gone{time_point::max()};
    bool is_latest{};  ///< Of its node.
  };
  bool is_over(const stay& s, time_point now) const noexcept;
  void check_latest(node_index i, const server& s) const noexcept;

  duration max_ttl_;
  std::vector<stay> stays_;
};

}  // namespace holdfast::core::redlock
