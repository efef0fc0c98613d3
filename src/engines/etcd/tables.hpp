#pragma once

#include "core/engine.hpp"
#include "engines/etcd/keys.hpp"
#include "wire/etcd_replies.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::engines::etcd {

/// Session records, put together from their keys as they were in one revision.
class session_table {
 public:
  /// What cannot be read is remembered in damage().
  void add(const key_space& k, const wire::etcd::range_reply& keys);
  /// Others of the same revision.
  void add(const session_table& others);

  const core::session_record* find(const session_id& id) const;
  /// The same, if its incarnation is this one.
  const core::session_record* find(const session_id& id, std::uint64_t inc) const;
  const std::map<session_id, core::session_record>& all() const noexcept { return records_; }
  /// Which key is no record of ours; empty: all are.
  const std::string& damage() const noexcept { return damage_; }

 private:
  std::map<session_id, core::session_record> records_;
  std::string damage_;
};

/// One entry, and where it is.
struct kept_entry {
  core::entry what{};
  lock_name name{""};
  std::string key{};
};

/// Entries as they were in one revision, in order.
class entry_table {
 public:
  entry_table() = default;
  entry_table(const key_space& k, std::uint64_t epoch, const wire::etcd::range_reply& keys) {
    add(k, epoch, keys);
  }
  /// More of the same revision.
  void add(const key_space& k, std::uint64_t epoch, const wire::etcd::range_reply& keys);

  const std::vector<kept_entry>& all() const noexcept { return all_; }
  const std::string& damage() const noexcept { return damage_; }
  std::vector<core::entry> entries() const;
  std::vector<core::entry> live(const session_table& sessions) const;
  std::vector<std::string> dead_keys(const session_table& sessions) const;
  std::vector<session_id> owners() const;
  const kept_entry* find(token order) const;
  const kept_entry* find(const session_id& id, std::uint64_t inc, std::uint64_t request) const;

 private:
  std::vector<kept_entry> all_;
  std::string damage_;
};

/// What a view says of the entry `mine`, which is among the live ones.
core::queue_view view_of(const std::vector<core::entry>& live, const session_table& sessions,
                         token mine);

/// Why the session may not do what it asked for; nothing when it may.
std::optional<core::reply> refusal(const session_table& sessions, const session_id& id,
                                   std::uint64_t inc);

}  // namespace holdfast::engines::etcd
