#pragma once

#include "engines/local/codec.hpp"
#include "engines/local/database.hpp"
#include "engines/local/keys.hpp"

#include <map>
#include <optional>
#include <vector>

namespace holdfast::engines::local {

/// \file
/// Sessions and queues inside one transaction. Anything that cannot be decoded makes the
/// transaction fail as `damaged`.

/// What decisions need of a session; nothing when there is none.
std::optional<session_head> find_head(transaction& txn, const session_id& id);
std::optional<core::session_record> find_session(transaction& txn, const session_id& id);

/// One entry of a name, whoever owns it; nothing when it is not there.
std::optional<stored_entry> find_entry(transaction& txn, const lock_name& name, token order);
/// The entry of this request; nothing when it is not there.
std::optional<stored_entry> find_request(transaction& txn, const lock_name& name,
                                         const session_id& id, std::uint64_t inc,
                                         std::uint64_t request);
void put_entry(transaction& txn, const lock_name& name, const stored_entry& e);

/// True when the session with this incarnation is there.
bool is_there(transaction& txn, const session_id& id, std::uint64_t inc);
/// True when the entry is there and its session is too.
bool is_alive(transaction& txn, const lock_name& name, token order);
bool any_gone(transaction& txn, const lock_name& name, const std::vector<token>& orders);

/// Walks the entries of one name in order of arrival, from `from` on, while `each` returns true.
template <class Each>
void walk_queue(transaction& txn, const lock_name& name, token from, Each&& each) {
  const key prefix = queue_prefix(name);
  txn.walk(prefix.view(), entry_key(prefix, from).view(), [&](bytes k, bytes value) {
    if (k.size() != prefix.view().size() + 8) return true;  // A longer name that begins so.
    if (is_long(name) && name_kept_in(value) != name.str()) return true;
    const auto e = decode_entry(order_in(k), value);
    if (!e) txn.damaged("an entry");
    return e && each(*e);
  });
}

/// What a sweep did.
struct swept {
  std::vector<std::byte> next;  ///< Where it stopped; empty when the end was reached.
  std::size_t deleted{};
};

/// Deletes entries of missing sessions, looking at `limit` entries after `from` (a key; empty: from
/// the first).
swept sweep_some(transaction& txn, const std::vector<std::byte>& from, std::size_t limit);

/// Records as they were inside a transaction, to be decoded when it is over: that takes ten times
/// as long as copying them, and a large store would keep everybody else waiting meanwhile.
class copied_records {
 public:
  void add(bytes k, bytes value);
  /// In the order in which they were added, while `each` returns true.
  template <class Each>
  void walk(Each&& each) const {
    for (const auto& block : blocks_) {
      reader in(block);
      while (!in.at_end()) {
        const auto key_size = in.number<std::uint32_t>();
        const auto value_size = in.number<std::uint32_t>();
        const bytes k = in.raw(key_size);
        if (!each(k, in.raw(value_size))) return;
      }
    }
  }

 private:
  // Blocks that never grow: growing would copy what is there again.
  std::vector<std::vector<std::byte>> blocks_;
};

/// All sessions, then all entries.
void copy_all(transaction& txn, copied_records& into);
/// What they say; entries of missing sessions are left out. `path`: of their database, for
/// messages.
failure list_all(const copied_records& all, const std::string& path, core::listing& into);

}  // namespace holdfast::engines::local
