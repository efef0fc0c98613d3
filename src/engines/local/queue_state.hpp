#pragma once

#include "engines/local/tables.hpp"

#include <map>
#include <optional>
#include <vector>

namespace holdfast::engines::local {

/// One name's live entries as a transaction sees them, and what follows from them by
/// core/queue.hpp.
class queue_state {
 public:
  /// Reads them. Entries of missing sessions are left out and remembered for sweep().
  queue_state(transaction& txn, const lock_name& name);

  const std::vector<core::entry>& live() const noexcept { return live_; }
  /// The entry of this request.
  std::optional<token> find(const session_id& id, std::uint64_t inc, std::uint64_t request) const;
  /// Adds one here, not in the store.
  void add(const core::entry& e) { live_.push_back(e); }
  /// What `mine` sees, as core::queue_view says.
  core::queue_view view(token mine);
  /// Deletes at most `limit` entries of missing sessions.
  void sweep(std::size_t limit);

 private:
  const std::optional<session_head>& head_of(const session_id& id);

  transaction& txn_;
  const lock_name& name_;
  std::vector<core::entry> live_;
  std::vector<token> dead_;
  using owner_map = std::map<session_id, std::optional<session_head>>;
  owner_map owners_;
  const owner_map::value_type* last_{};
};

/// The slots of those whose watch targets include `leaving`, by the table of core::watch_targets
/// read backwards: an exclusive entry is watched by all shared ones up to the next exclusive, and
/// that one only when it comes first; a permit by the n after it. Some may not watch (they hold
/// it).
void add_watchers(transaction& txn, const lock_name& name, const core::entry& leaving,
                  std::vector<std::uint16_t>& slots);

}  // namespace holdfast::engines::local
