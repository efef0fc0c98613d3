#include "engines/etcd/tables.hpp"

#include "core/assert.hpp"
#include "core/queue.hpp"
#include "core/replies.hpp"
#include "engines/etcd/codec.hpp"

#include <algorithm>
#include <memory>

namespace holdfast::engines::etcd {

namespace {

std::string printable(std::string_view key) { return lock_name(std::string(key)).printable(); }

}  // namespace

void session_table::add(const key_space& k, const wire::etcd::range_reply& keys) {
  using kind = key_space::session_part::kind;
  for (const auto& kv : keys.all) {
    const auto part = k.parse_session(kv.key);
    if (!part) {
      damage_ = printable(kv.key);
      continue;
    }
    if (part->what == kind::record) {
      auto record = decode_session(kv.value);
      if (!record) {
        damage_ = printable(kv.key);
        continue;
      }
      record->id = part->id;
      record->at.inc = static_cast<std::uint64_t>(kv.create);
      record->gate = 1;
      records_.insert_or_assign(part->id, std::move(*record));
      continue;
    }
    // A record's key comes before those that belong to it, and all of them go together.
    const auto at = records_.find(part->id);
    if (at == records_.end()) continue;
    auto& record = at->second;
    if (part->what == kind::beat) record.at.beat = static_cast<std::uint64_t>(kv.mod);
    if (part->what == kind::gate) record.gate = 1 + static_cast<std::uint64_t>(kv.version);
    if (part->what == kind::deny) {
      record.at.denied = true;
      // One that cannot be read denies all the same.
      auto note = decode_denial(kv.value).value_or(denial_note{});
      record.denied_by = std::move(note.by);
      record.denied_why = std::move(note.why);
    }
  }
}

void session_table::add(const session_table& others) {
  // Both were read in one revision, so what both have is the same.
  records_.insert(others.records_.begin(), others.records_.end());
  if (damage_.empty()) damage_ = others.damage_;
}

const core::session_record* session_table::find(const session_id& id) const {
  const auto at = records_.find(id);
  return at == records_.end() ? nullptr : &at->second;
}

const core::session_record* session_table::find(const session_id& id, std::uint64_t inc) const {
  const auto* found = find(id);
  return found != nullptr && found->at.inc == inc ? found : nullptr;
}

void entry_table::add(const key_space& k, std::uint64_t epoch,
                      const wire::etcd::range_reply& keys) {
  all_.reserve(all_.size() + keys.all.size());
  for (const auto& kv : keys.all) {
    auto part = k.parse_entry(kv.key);
    const auto since = decode_entry(kv.value);
    const token order = token_of(epoch, kv.create);
    if (!part || !since || order.value == 0) {
      damage_ = printable(kv.key);
      continue;
    }
    part->what.order = order;
    part->what.since = *since;
    all_.push_back({std::move(part->what), std::move(part->name), std::string(kv.key)});
  }
  std::ranges::sort(all_, {}, [](const kept_entry& e) { return e.what.order; });
}

std::vector<core::entry> entry_table::entries() const {
  std::vector<core::entry> out;
  out.reserve(all_.size() + 1);
  for (const auto& e : all_) out.push_back(e.what);
  return out;
}

std::vector<core::entry> entry_table::live(const session_table& sessions) const {
  std::vector<core::entry> out;
  out.reserve(all_.size() + 1);
  for (const auto& e : all_) {
    if (sessions.find(e.what.owner, e.what.inc) != nullptr) out.push_back(e.what);
  }
  return out;
}

std::vector<std::string> entry_table::dead_keys(const session_table& sessions) const {
  std::vector<std::string> out;
  for (const auto& e : all_) {
    if (sessions.find(e.what.owner, e.what.inc) == nullptr) out.push_back(e.key);
  }
  return out;
}

std::vector<session_id> entry_table::owners() const {
  std::set<session_id> ids;
  for (const auto& e : all_) ids.insert(e.what.owner);
  return {ids.begin(), ids.end()};
}

const kept_entry* entry_table::find(token order) const {
  // By revision: the epoch may have grown since the order was given.
  const auto at = std::ranges::find(all_, revision_of(order),
                                    [](const kept_entry& e) { return revision_of(e.what.order); });
  return at == all_.end() ? nullptr : &*at;
}

const kept_entry* entry_table::find(const session_id& id, std::uint64_t inc,
                                    std::uint64_t request) const {
  const auto at = std::ranges::find_if(all_, [&](const kept_entry& e) {
    return e.what.request == request && e.what.inc == inc && e.what.owner == id;
  });
  return at == all_.end() ? nullptr : &*at;
}

core::queue_view view_of(const std::vector<core::entry>& live, const session_table& sessions,
                         token mine) {
  core::queue_view v;
  v.mine = mine;
  if (core::granted(live, mine)) {
    v.what = core::status::ok;
    return v;
  }
  v.what = core::status::queued;
  v.targets = core::watch_targets(live, mine);
  v.ahead.reserve(core::ahead_of(live, mine));
  for (const core::entry& e : live) {
    if (!(e.order < mine)) break;
    const auto* owner = sessions.find(e.owner);
    HOLDFAST_ASSERT(owner != nullptr);  // It is live.
    const core::session_record& s = *owner;
    if (!v.first) v.first = std::make_shared<const core::session_record>(s);
    v.ahead.push_back(core::rival_of(e, s));
  }
  return v;
}

std::optional<core::reply> refusal(const session_table& sessions, const session_id& id,
                                   std::uint64_t inc) {
  const auto* self = sessions.find(id, inc);
  if (self == nullptr) {
    return core::reply{core::status::gone, core::no_session_text(id)};
  }
  if (self->at.denied) return core::reply{core::status::denied, core::denial_text(*self)};
  return {};
}

}  // namespace holdfast::engines::etcd
