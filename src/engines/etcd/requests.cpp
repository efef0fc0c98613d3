#include "engines/etcd/requests.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::etcd::requests {

namespace {

using wire::etcd::compare;
using wire::etcd::op;
using wire::etcd::put;
using wire::etcd::range;
using wire::etcd::span;
using target = compare::target;
using relation = compare::relation;

compare created(std::string key, std::uint64_t revision) {
  return {.keys = {std::move(key)}, .number = static_cast<std::int64_t>(revision)};
}
compare absent(std::string key) { return {.keys = {std::move(key)}}; }
compare empty(span keys) { return {.keys = std::move(keys)}; }

op read(span keys, std::int64_t revision = 0) {
  return {range{.keys = std::move(keys), .revision = revision}};
}
op write(std::string key, std::string value = {}) {
  return {put{std::move(key), std::move(value)}};
}
op remove(span keys) { return {wire::etcd::erase{std::move(keys)}}; }

/// What every entry needs: our session there, not denied, the same gate and the same epoch.
std::vector<compare> may_enter(const key_space& k, std::int64_t epoch_mod,
                               const core::enqueue_request& r) {
  std::vector<compare> all{
      created(k.session(r.id), r.inc),
      {.keys = {k.epoch()}, .what = target::mod, .number = epoch_mod},
  };
  // Neither was ever denied nor has moved its gate: one comparison tells both.
  if (r.gate == 1) {
    all.push_back(empty(k.deny_and_gate(r.id)));
    return all;
  }
  const auto gate = static_cast<std::int64_t>(r.gate) - 1;
  all.push_back(absent(k.deny(r.id)));
  all.push_back({.keys = {k.gate(r.id)}, .what = target::version, .number = gate});
  return all;
}

std::string own_key(const key_space& k, const core::enqueue_request& r) {
  return k.entry(r.name, r.how, r.id, r.inc, r.request);
}

op own_entry(const key_space& k, const core::enqueue_request& r) {
  return write(own_key(k, r), encode_entry(r.since));
}

std::vector<op> why_not(const key_space& k, const core::enqueue_request& r) {
  return {read(k.all_of(r.id)), read({k.epoch()}), read(k.queue(r.name))};
}

/// What must not be there for the entry to be granted at once. Fewer comparisons cost the server
/// less: an empty queue says all of it.
std::vector<compare> free(const key_space& k, const core::enqueue_request& r) {
  if (r.how.is_exclusive() || (r.how.is_permits() && r.leave_if_busy)) {
    return {empty(k.queue(r.name))};
  }
  std::vector<compare> all{absent(own_key(k, r))};
  for (auto& keys : k.disagreeing(r.name, r.how)) all.push_back(empty(std::move(keys)));
  if (r.how.is_shared()) all.push_back(empty(k.entries(r.name, mode::exclusive())));
  return all;
}

/// Waiting behind others: whoever is there agrees, and it is not this very request.
txn wait_behind(const key_space& k, const core::enqueue_request& r) {
  txn t{.then = {own_entry(k, r), read(k.queue(r.name))}, .otherwise = {read(k.queue(r.name))}};
  for (auto& keys : k.disagreeing(r.name, r.how)) t.compares.push_back(empty(std::move(keys)));
  for (const auto& how : {mode::exclusive(), mode::shared()}) {
    t.compares.push_back(absent(k.entry(r.name, how, r.id, r.inc, r.request)));
  }
  return t;
}

}  // namespace

txn open(const key_space& k, std::int64_t epoch_mod, const core::session_record& draft) {
  return {.compares = {absent(k.session(draft.id)),
                       {.keys = {k.epoch()}, .what = target::mod, .number = epoch_mod}},
          .then = {write(k.session(draft.id), encode(draft))},
          .otherwise = {read(k.all_of(draft.id)), read({k.epoch()})}};
}

txn beat(const key_space& k, const session_id& id, std::uint64_t inc) {
  return {.compares = {created(k.session(id), inc), absent(k.deny(id))},
          // The value says nothing: the revision of the key's last change is the beat.
          .then = {write(k.beat(id))},
          .otherwise = {read(k.all_of(id))}};
}

txn close(const key_space& k, const session_id& id, std::uint64_t inc,
          std::span<const std::string> entries) {
  txn t{.compares = {created(k.session(id), inc)}, .then = {remove(k.all_of(id))}};
  // The others are dead with the session, and are deleted behind it.
  for (const auto& key : entries.first(std::min(entries.size(), sweep_max))) {
    t.then.push_back(remove({key}));
  }
  return t;
}

txn take(const key_space& k, const session_id& id, const core::version& seen) {
  return {.compares = {created(k.session(id), seen.inc),
                       {.keys = {k.beat(id)},
                        .what = target::mod,
                        .number = static_cast<std::int64_t>(seen.beat)},
                       {.keys = {k.deny(id)},
                        .how = seen.denied ? relation::not_equal : relation::equal}},
          .then = {remove(k.all_of(id))},
          .otherwise = {read(k.all_of(id))}};
}

txn deny(const key_space& k, const session_id& id, const denial_note& note) {
  return {.compares = {{.keys = {k.session(id)}, .how = relation::not_equal}, absent(k.deny(id))},
          .then = {read(k.all_of(id)), write(k.deny(id), encode(note))},
          .otherwise = {read(k.all_of(id))}};
}

txn list(const key_space& k, const std::optional<std::string>& sessions_from,
         const std::optional<std::string>& entries_from, std::int64_t revision) {
  txn t;
  const auto page = [&](span all, const std::optional<std::string>& from) {
    if (!from) return;
    all.key = *from;
    t.then.push_back({range{.keys = std::move(all), .limit = page_max, .revision = revision}});
  };
  page(k.sessions(), sessions_from);
  page(k.queues(), entries_from);
  return t;
}

bool counted(const core::enqueue_request& r) noexcept {
  if (r.how.is_exclusive()) return false;
  return r.how.is_shared() || !r.leave_if_busy;
}

txn enqueue(const key_space& k, std::int64_t epoch_mod, const core::enqueue_request& r) {
  txn t{.compares = may_enter(k, epoch_mod, r),
        .then = {own_entry(k, r)},
        .otherwise = why_not(k, r)};
  for (auto& c : free(k, r)) t.compares.push_back(std::move(c));
  if (counted(r)) t.then.push_back({range{.keys = k.queue(r.name), .count_only = true}});
  return t;
}

txn enter(const key_space& k, std::int64_t epoch_mod, const core::enqueue_request& r,
          std::span<const session_id> ids) {
  txn t{.compares = may_enter(k, epoch_mod, r),
        .then = {nested(wait_behind(k, r))},
        .otherwise = why_not(k, r)};
  for (auto& each : sessions(k, ids, 0).then) t.then.push_back(std::move(each));
  return t;
}

txn append(const key_space& k, std::int64_t epoch_mod, const core::enqueue_request& r,
           std::int64_t revision) {
  txn t{.compares = may_enter(k, epoch_mod, r)};
  // True while no entry of the queue is newer. One that was deleted since is in nobody's way.
  t.compares.push_back({.keys = k.queue(r.name),
                        .what = target::mod,
                        .how = relation::less,
                        .number = revision + 1});
  t.then.push_back(own_entry(k, r));
  t.otherwise = why_not(k, r);
  return t;
}

txn confirm(const key_space& k, const session_id& id, const lock_name& name, std::int64_t created) {
  // Whoever came later is behind it, and changes nothing for it.
  return {.then = {read(k.all_of(id)), {range{.keys = k.queue(name), .created_until = created}}}};
}

txn queue(const key_space& k, const lock_name& name, std::int64_t revision) {
  return {.then = {read(k.queue(name), revision)}};
}

txn sessions(const key_space& k, std::span<const session_id> ids, std::int64_t revision) {
  txn t;
  for (const auto& id : ids.first(std::min(ids.size(), sessions_max))) {
    t.then.push_back(read(k.all_of(id), revision));
  }
  return t;
}

txn others(const key_space& k, const session_id& from, std::size_t others) {
  // A record and what may belong to it.
  const auto limit = 4 * static_cast<std::int64_t>(others);
  // In a circle: behind the last session come the first ones.
  span behind = k.sessions();
  behind.key = k.session(from);
  return {.then = {{range{.keys = std::move(behind), .limit = limit}},
                   {range{.keys = k.sessions(), .limit = limit}}}};
}

txn find(const key_space& k, const lock_name& name, std::int64_t created) {
  return {
      .then = {{range{.keys = k.queue(name), .created_until = created, .created_from = created}}}};
}

txn page(const key_space& k, const std::string& from) {
  span all = k.queues();
  if (!from.empty()) all.key = from;
  return {.then = {{range{.keys = std::move(all), .limit = page_max, .keys_only = true}}}};
}

txn leave(const key_space& k, const core::leave_request& r, const std::string& key,
          std::int64_t created_in) {
  if (!r.move_gate) {
    return {.compares = {created(k.session(r.id), r.inc),
                         created(key, static_cast<std::uint64_t>(created_in))},
            .then = {remove({key})},
            .otherwise = {{range{.keys = {k.session(r.id)}, .keys_only = true}}}};
  }
  // The entry goes whether its session is there or not, and the gate moves whether there was one or
  // not.
  const txn deletion{.compares = {created(key, static_cast<std::uint64_t>(created_in))},
                     .then = {remove({key})}};
  txn t{.compares = {created(k.session(r.id), r.inc)},
        .then = {nested(deletion)},
        .otherwise = {nested(deletion)}};
  t.then.push_back(write(k.gate(r.id)));
  t.then.push_back(read({k.gate(r.id)}));
  return t;
}

txn leave_by_request(const key_space& k, const core::leave_request& r) {
  txn t{.compares = {created(k.session(r.id), r.inc)}};
  for (const auto& how : {mode::exclusive(), mode::shared()}) {
    t.then.push_back(remove({k.entry(r.name, how, r.id, r.inc, r.request)}));
  }
  if (r.move_gate) t.then.push_back(write(k.gate(r.id)));
  const span all = k.queue(r.name);
  // Permits only: p comes before q, and s and x behind it.
  t.then.push_back({range{.keys = {all.key, all.key + "q"}, .keys_only = true}});
  t.then.push_back(read({k.gate(r.id)}));
  return t;
}

txn erase(std::span<const std::string> keys) {
  txn t;
  for (const auto& key : keys.first(std::min(keys.size(), sweep_max))) {
    t.then.push_back(remove({key}));
  }
  return t;
}

}  // namespace holdfast::engines::etcd::requests
