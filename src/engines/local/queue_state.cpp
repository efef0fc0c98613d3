#include "engines/local/queue_state.hpp"

#include "core/assert.hpp"
#include "core/queue.hpp"

#include <algorithm>
#include <memory>

namespace holdfast::engines::local {

queue_state::queue_state(transaction& txn, const lock_name& name) : txn_(txn), name_(name) {
  std::vector<core::entry> all;
  walk_queue(txn, name, token{}, [&](const stored_entry& e) {
    all.push_back(e.what);
    return true;
  });
  live_.reserve(all.size() + 1);
  for (const core::entry& e : all) {
    const auto& owner = head_of(e.owner);
    if (owner && owner->at.inc == e.inc) {
      live_.push_back(e);
    } else {
      dead_.push_back(e.order);
    }
  }
}

const std::optional<session_head>& queue_state::head_of(const session_id& id) {
  // Long queues often have runs of one owner.
  if (last_ != nullptr && last_->first == id) return last_->second;
  auto at = owners_.find(id);
  if (at == owners_.end()) at = owners_.emplace(id, find_head(txn_, id)).first;
  last_ = &*at;
  return at->second;
}

std::optional<token> queue_state::find(const session_id& id, std::uint64_t inc,
                                       std::uint64_t request) const {
  for (const core::entry& e : live_) {
    if (e.request == request && e.inc == inc && e.owner == id) return e.order;
  }
  return {};
}

core::queue_view queue_state::view(token mine) {
  core::queue_view v;
  v.mine = mine;
  if (core::granted(live_, mine)) {
    v.what = core::status::ok;
    return v;
  }
  v.what = core::status::queued;
  v.targets = core::watch_targets(live_, mine);
  v.ahead.reserve(core::ahead_of(live_, mine));
  for (const core::entry& e : live_) {
    if (!(e.order < mine)) break;
    const auto& head = head_of(e.owner);
    HOLDFAST_ASSERT(head.has_value());  // It is live.
    const session_head& s = *head;
    if (!v.first) {
      if (auto found = find_session(txn_, e.owner)) {
        v.first = std::make_shared<const core::session_record>(std::move(*found));
      }
    }
    v.ahead.push_back({.order = e.order,
                       .owner = e.owner,
                       .at = s.at,
                       .ttl = s.ttl,
                       .where = s.where,
                       .pid = s.pid,
                       .how = e.how,
                       .since = e.since});
  }
  return v;
}

void queue_state::sweep(std::size_t limit) {
  const key prefix = queue_prefix(name_);
  for (std::size_t i = 0; i < std::min(limit, dead_.size()); ++i) {
    (void)txn_.erase(entry_key(prefix, dead_[i]).view());
  }
}

void add_watchers(transaction& txn, const lock_name& name, const core::entry& leaving,
                  std::vector<std::uint16_t>& slots) {
  std::uint32_t seen = 0;
  walk_queue(txn, name, token{leaving.order.value + 1}, [&](const stored_entry& e) {
    // Nobody of the dead waits, and they keep nobody behind them from waiting for the one that
    // leaves.
    if (!is_there(txn, e.what.owner, e.what.inc)) return true;
    ++seen;
    if (e.what.how.is_permits()) {
      slots.push_back(e.slot);
      return seen < e.what.how.limit();
    }
    if (e.what.how.is_exclusive()) {
      if (seen == 1) slots.push_back(e.slot);
      return false;
    }
    // A reader that leaves was in no other reader's way.
    if (!leaving.how.is_shared()) slots.push_back(e.slot);
    return true;
  });
}

}  // namespace holdfast::engines::local
