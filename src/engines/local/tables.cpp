#include "engines/local/tables.hpp"

#include <algorithm>

namespace holdfast::engines::local {

std::optional<session_head> find_head(transaction& txn, const session_id& id) {
  const bytes value = txn.get(session_key(id).view());
  if (value.empty()) return {};
  const auto head = decode_head(value);
  if (!head) txn.damaged("a session record");
  return head;
}

std::optional<core::session_record> find_session(transaction& txn, const session_id& id) {
  const bytes value = txn.get(session_key(id).view());
  if (value.empty()) return {};
  auto record = decode_session(id, value);
  if (!record) txn.damaged("a session record");
  return record;
}

std::optional<stored_entry> find_entry(transaction& txn, const lock_name& name, token order) {
  const bytes value = txn.get(entry_key(queue_prefix(name), order).view());
  // Two long names may have one key, and then it is the other one's entry.
  if (value.empty() || (is_long(name) && name_kept_in(value) != name.str())) return {};
  const auto e = decode_entry(order, value);
  if (!e) txn.damaged("an entry");
  return e;
}

std::optional<stored_entry> find_request(transaction& txn, const lock_name& name,
                                         const session_id& id, std::uint64_t inc,
                                         std::uint64_t request) {
  std::optional<stored_entry> found;
  walk_queue(txn, name, token{}, [&](const stored_entry& e) {
    if (e.what.request == request && e.what.inc == inc && e.what.owner == id) found = e;
    return !found;
  });
  return found;
}

void put_entry(transaction& txn, const lock_name& name, const stored_entry& e) {
  const std::string_view kept = is_long(name) ? std::string_view(name.str()) : std::string_view();
  txn.put(entry_key(queue_prefix(name), e.what.order).view(), encode(e, kept));
}

bool is_there(transaction& txn, const session_id& id, std::uint64_t inc) {
  const auto head = find_head(txn, id);
  return head && head->at.inc == inc;
}

bool is_alive(transaction& txn, const lock_name& name, token order) {
  const auto e = find_entry(txn, name, order);
  return e && is_there(txn, e->what.owner, e->what.inc);
}

bool any_gone(transaction& txn, const lock_name& name, const std::vector<token>& orders) {
  return std::any_of(orders.begin(), orders.end(),
                     [&](token order) { return !is_alive(txn, name, order); });
}

swept sweep_some(transaction& txn, const std::vector<std::byte>& from, std::size_t limit) {
  std::vector<std::vector<std::byte>> dead;
  std::vector<std::byte> stopped;
  std::size_t looked = 0;
  const bytes prefix(&entries_begin, 1);
  txn.walk(prefix, from.empty() ? prefix : bytes(from), [&](bytes k, bytes value) {
    // What is looked at counts, not what is found: everybody else waits for the gate meanwhile.
    if (looked++ == limit) {
      stopped.assign(k.begin(), k.end());
      return false;
    }
    const auto e = decode_entry(order_in(k), value);
    if (!e) {
      txn.damaged("an entry");
    } else if (!is_there(txn, e->what.owner, e->what.inc)) {
      dead.emplace_back(k.begin(), k.end());
    }
    return e.has_value();
  });
  for (const auto& k : dead) (void)txn.erase(k);
  return {std::move(stopped), dead.size()};
}

void copied_records::add(bytes k, bytes value) {
  constexpr std::size_t block_size = std::size_t{1} << 20;
  const std::size_t size = 2 * sizeof(std::uint32_t) + k.size() + value.size();
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < size) {
    blocks_.emplace_back().reserve(std::max(size, block_size));
  }
  writer out(blocks_.back());
  out.number(static_cast<std::uint32_t>(k.size()));
  out.number(static_cast<std::uint32_t>(value.size()));
  out.raw(k);
  out.raw(value);
}

void copy_all(transaction& txn, copied_records& into) {
  // In this order, so that list_all() knows of each entry whether its session is there.
  for (const std::byte& begin : {sessions_begin, entries_begin}) {
    const bytes prefix(&begin, 1);
    txn.walk(prefix, prefix, [&](bytes k, bytes value) {
      into.add(k, value);
      return true;
    });
  }
}

failure list_all(const copied_records& all, const std::string& path, core::listing& into) {
  std::map<session_id, std::uint64_t> there;
  std::map<lock_name, std::vector<core::entry>> locks;
  const char* unreadable = nullptr;
  all.walk([&](bytes k, bytes value) {
    if (k.front() == sessions_begin) {
      const auto id = parse_session_key(k);
      auto record = id ? decode_session(*id, value) : std::nullopt;
      if (!record) {
        unreadable = "a session record";
        return false;
      }
      there.emplace(*id, record->at.inc);
      into.sessions.push_back(std::move(*record));
      return true;
    }
    auto name = name_of_entry(k, value);
    const auto e = decode_entry(order_in(k), value);
    if (!name || !e) {
      unreadable = "an entry";
      return false;
    }
    const auto owner = there.find(e->what.owner);
    if (owner != there.end() && owner->second == e->what.inc) {
      locks[std::move(*name)].push_back(e->what);
    }
    return true;
  });
  // Told as a whole: a list that leaves something out would say that a lock is free.
  if (unreadable != nullptr) return {core::status::damaged, unreadable_text(path, unreadable)};
  for (auto& [name, entries] : locks) into.locks.push_back({name, std::move(entries)});
  return {};
}

}  // namespace holdfast::engines::local
