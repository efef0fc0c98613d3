#pragma once

#include "core/engine.hpp"
#include "engines/zookeeper/store.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

/// The entries of one name by their nodes' names, in order.
class queue_names {
 public:
  queue_names() = default;
  /// A name that is no entry's is remembered in damage().
  explicit queue_names(const std::vector<std::string>& nodes);

  const std::vector<named_entry>& all() const noexcept { return all_; }
  const std::string& damage() const noexcept { return damage_; }
  /// The oldest that this request has made; nothing when there is none.
  const named_entry* find(const session_id& id, std::uint64_t inc, std::uint64_t request) const;
  const named_entry* find(const std::string& node) const;
  /// With any that came so many arrivals before or after it that the numbers do not tell which.
  std::vector<named_entry> older_than(const named_entry& mine) const;

 private:
  std::vector<named_entry> all_;
  std::string damage_;
};

/// Granted even if all of those were alive, so that nobody has to be looked at.
bool surely_granted(const std::vector<named_entry>& older, const mode& how);

/// Half of what the numbers could tell: two that are further apart are ordered by their tokens.
inline constexpr std::int32_t arrivals_told = 1 << 30;

/// Who of some entries is alive, with their orders and sessions: what a decision needs. Entries
/// that are dead are swept, at most store::sweep_max.
struct queue_picture : core::reply {
  queue_picture() : reply{core::status::ok} {}
  std::vector<core::entry> live{};  ///< In order.
  std::map<token, std::string> nodes{};
  std::map<session_id, core::session_record> sessions{};
};

/// Reads what is not known of these entries, and their sessions, in one batch.
///
/// An entry is dead when its session's node is not there: it was there before the entry was, and
/// the server that is asked has seen the entry, so that the node is gone for good.
void look_at(const std::shared_ptr<store>& s, const lock_name& name,
             std::vector<named_entry> entries, std::function<void(queue_picture)> done);

/// The same of what older_than() gave for an entry with the token `mine`, without the younger ones
/// among it.
void look_at_older(const std::shared_ptr<store>& s, const lock_name& name,
                   std::vector<named_entry> older, token mine,
                   std::function<void(queue_picture)> done);

/// Whether the entries of `p` are there for another use than `how`. The oldest tells. A younger one
/// that does not agree with it was made by who did not know that yet, and is about to be withdrawn:
/// to wait for that is better than to be refused for it.
bool used_otherwise(const queue_picture& p, const mode& how) noexcept;

/// What a view says of `mine`, which need not be there yet; `p` has all that are older. Nothing is
/// granted past an entry that does not agree: it may have been granted when the older ones ended.
core::queue_view view_of(const queue_picture& p, core::entry mine);

/// For a waiter: the nodes that its targets end with.
std::vector<std::string> nodes_of(const store& s, const lock_name& name, const queue_picture& p,
                                  const std::vector<token>& targets);

}  // namespace holdfast::engines::zookeeper
