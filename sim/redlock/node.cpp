#include "sim/redlock/node.hpp"

#include "core/lease.hpp"
#include "core/redlock/node_record.hpp"
#include "core/redlock/rules.hpp"
#include "sim/redlock/script_rules.hpp"

#include <holdfast/token.hpp>

#include <algorithm>
#include <cmath>

namespace holdfast::sim::redlock {

namespace {

using core::redlock::active;
using core::redlock::believable;

constexpr server_time day = std::chrono::hours{24};

template <class T>
T& grown(std::vector<T>& v, std::size_t i) {
  if (v.size() <= i) v.resize(i + 1);
  return v[i];
}

}  // namespace

bool node::unknown(answer& a) const noexcept {
  if (!has_scripts_) a.refused = fault::script_missing;
  return !has_scripts_;
}

bool node::refused(answer& a, const std::string& nonce, bool may_wait) const {
  if (unknown(a)) return true;
  const bool known = data_.record && (data_.record->nonce == nonce || !scripts.compare_nonce) &&
                     data_.record->floor <= believable;
  // Epoch zero is refused last in the script, too: the fault is the same.
  if (known && (may_wait || data_.record->epoch > 0)) return false;
  a.refused = fault::not_admitted;
  return true;
}

bool node::refused_epoch(answer& a, std::uint64_t epoch) const {
  if (data_.record->epoch == epoch) return false;
  a.refused = fault::epoch_moved;
  a.number = data_.record->epoch;
  return true;
}

bool node::refused_time(answer& a) const {
  a.time = wall_;
  if (wall_ + core::margin >= data_.record->last_time) return false;
  a.refused = fault::clock_went_back;
  return true;
}

bool node::refused_session(answer& a, session_index session) const {
  const data::session* s = session_of(session);
  if (s != nullptr && (!s->denied || !scripts.refuse_denied)) return false;
  a.refused = s == nullptr ? fault::session_missing : fault::denied;
  return true;
}

bool node::refused_ttl(answer& a, milliseconds ttl) const {
  const milliseconds most = in_ms(data_.record->max_ttl);
  if (!scripts.refuse_longer_ttl) return false;
  if (ttl >= milliseconds{1} && ttl <= most) return false;
  a.refused = fault::ttl_too_long;
  a.number = static_cast<std::uint64_t>(most.count());
  return true;
}

bool node::refused_token(answer& a, std::uint64_t token) {
  if (token >= 1 && token <= believable) return false;
  a.refused = fault::counter_full;
  return true;
}

bool node::taken(answer& a, lock_index lock) const {
  if (value_of(lock) == 0) return false;
  const std::int64_t ends = data_.locks[lock].ends;
  a.left = milliseconds{ends == data::no_end ? -1 : ends - now()};
  return true;
}

std::uint64_t node::counter_of(lock_index lock) const {
  const node_record& r = *data_.record;
  if (lock >= data_.counters.size()) return r.floor;
  const data::counter& c = data_.counters[lock];
  const bool of_epoch = c.epoch == r.epoch || !scripts.cache_has_epoch;
  // Without keep_floor the floor stays behind, and no cache would ever count.
  const bool believed = c.token <= r.floor || !scripts.keep_floor;
  return c.token > 0 && lives(c.ends) && of_epoch && believed ? c.token : r.floor;
}

void node::keep_counter(lock_index lock, std::uint64_t token) {
  node_record& r = *data_.record;
  if (scripts.keep_floor) r.floor = std::max(r.floor, token);
  r.last_time = std::max(r.last_time, wall_);
  grown(data_.counters, lock) = {token, r.epoch, end_of(2 * in_ms(r.max_ttl))};
}

void node::put(lock_index lock, std::uint64_t value, milliseconds ttl) {
  grown(data_.locks, lock) = {value, end_of(ttl)};
}

node::answer node::acquire(const acquisition& a) {
  answer out;
  if (refused(out, a.with.nonce)) return out;
  if (active.acquire_checks_epoch && refused_epoch(out, a.with.epoch)) return out;
  if (refused_time(out) || refused_session(out, a.session) || refused_ttl(out, a.ttl)) return out;
  if (taken(out, a.lock) && scripts.put_only_if_free) return out;
  std::uint64_t counter = counter_of(a.lock);
  const std::uint64_t hint_most = static_cast<std::uint64_t>((wall_ + day).count());
  if (a.hint > counter && a.hint <= hint_most) counter = a.hint;
  ++counter;
  if (refused_token(out, counter)) return out;
  keep_counter(a.lock, counter);
  put(a.lock, a.value, a.ttl);
  out.number = counter;
  return out;
}

node::answer node::acquire_plain(lock_index lock, std::uint64_t value, milliseconds ttl) {
  answer out;
  out.time = wall_;
  if (taken(out, lock) && scripts.put_only_if_free) return out;
  put(lock, value, ttl);
  out.number = 1;
  return out;
}

node::answer node::raise(lock_index lock, std::uint64_t value, std::uint64_t token,
                         const ballot& with) {
  answer out;
  if (refused(out, with.nonce)) return out;
  if (active.raise_checks_epoch && refused_epoch(out, with.epoch)) return out;
  if (refused_time(out) || refused_token(out, token)) return out;
  if (value_of(lock) != value && scripts.raise_by_compare) return out;
  keep_counter(lock, std::max(token, counter_of(lock)));
  out.number = 1;
  return out;
}

node::answer node::repair(const acquisition& a, std::uint64_t token) {
  answer out;
  if (refused(out, a.with.nonce) || refused_time(out) || refused_session(out, a.session)) {
    return out;
  }
  if (refused_ttl(out, a.ttl) || refused_token(out, token)) return out;
  if (taken(out, a.lock) && scripts.put_only_if_free) return out;
  keep_counter(a.lock, std::max(token, counter_of(a.lock)));
  put(a.lock, a.value, a.ttl);
  out.number = 1;
  return out;
}

node::answer node::release(lock_index lock, std::uint64_t value) {
  answer out;
  if (unknown(out) || value_of(lock) == 0) return out;
  if (value_of(lock) != value && scripts.release_by_compare) return out;
  data_.locks[lock] = {};
  out.number = 1;
  return out;
}

void node::extend(answer& a, const std::vector<held>& locks, milliseconds ttl) {
  for (std::size_t k = 0; k < locks.size(); ++k) {
    const auto& [lock, value] = locks[k];
    const bool ours = value_of(lock) == value;
    if (!ours && active.renew_by_compare) continue;
    put(lock, value, ttl);
    a.ours.set(k);
  }
}

node::answer node::renew(session_index session, const std::vector<held>& locks, milliseconds ttl,
                         const std::string& nonce) {
  answer out;
  if (refused(out, nonce) || refused_time(out)) return out;
  if (refused_session(out, session) || refused_ttl(out, ttl)) return out;
  place_of(session).ends = end_of(ttl);
  extend(out, locks, ttl);
  for (std::size_t k = 0; k < locks.size(); ++k) {
    const lock_index lock = locks[k].first;
    if (!out.ours.test(k) || lock >= data_.counters.size()) continue;
    data::counter& c = data_.counters[lock];
    if (lives(c.ends)) c.ends = end_of(2 * in_ms(data_.record->max_ttl));
  }
  data_.record->last_time = std::max(data_.record->last_time, wall_);
  return out;
}

node::answer node::renew_plain(const std::vector<held>& locks, milliseconds ttl) {
  answer out;
  if (unknown(out)) return out;
  out.time = wall_;
  extend(out, locks, ttl);
  return out;
}

node::answer node::open(session_index session, milliseconds ttl, const std::string& nonce) {
  answer out;
  if (refused(out, nonce) || refused_ttl(out, ttl)) return out;
  const data::session* there = session_of(session);
  if (there != nullptr && there->denied && scripts.refuse_denied) {
    out.refused = fault::denied;
    return out;
  }
  place_of(session) = {true, false, ttl, end_of(ttl)};
  out.number = 1;
  return out;
}

node::answer node::close(session_index session) {
  answer out;
  const data::session* there = session_of(session);
  if (there == nullptr || there->denied) return out;
  place_of(session) = {};
  out.number = 1;
  return out;
}

node::answer node::deny(session_index session, const std::string& nonce) {
  answer out;
  if (refused(out, nonce, true)) return out;
  const data::session* there = session_of(session);
  data::session s = there != nullptr ? *there : data::session{};
  // A record without a ttl was made by a denial.
  out.number = s.ttl == milliseconds::zero() ? 2 : s.denied ? 0 : 1;
  out.left = s.ttl;
  s.there = s.denied = true;
  const auto most = static_cast<double>(in_ms(data_.record->max_ttl).count());
  const auto lasts = milliseconds{static_cast<std::int64_t>(std::ceil(most * 1.01)) + 2};
  if (scripts.deny_lasts || there == nullptr) s.ends = end_of(lasts);
  place_of(session) = s;
  return out;
}

node::answer node::seal(const std::string& nonce, std::uint64_t epoch) {
  answer out;
  // A node that waits is sealed only where that rule is removed from the machines, too.
  if (refused(out, nonce, !active.seal_only_admitted)) return out;
  node_record& r = *data_.record;
  // Without seals a rejoin reads floors in the epoch that is there.
  const bool lifts = scripts.seal_only_upwards && active.seal_others;
  const bool above = epoch > r.epoch || (!lifts && epoch == r.epoch);
  if (!above || epoch > token_max.value) {
    out.refused = fault::epoch_moved;
    out.number = r.epoch;
    return out;
  }
  if (r.epoch > 0) r.epoch = epoch;
  out.number = r.floor;
  return out;
}

node::answer node::write(const core::redlock::write& w) {
  answer out;
  const auto& seen = data_.record;
  const bool same =
      seen ? seen->nonce == w.nonce_seen && seen->epoch == w.epoch_seen : w.nonce_seen.empty();
  if (!same && scripts.write_by_compare) return out;
  const bool goes_on = seen && seen->nonce == w.record.nonce && seen->epoch == w.record.epoch;
  const bool damaged = seen && seen->floor > believable;
  if (damaged && goes_on) return out;
  const bool keep = seen && scripts.write_keeps_floor && !damaged;
  const std::uint64_t floor = keep ? std::max(seen->floor, w.record.floor) : w.record.floor;
  if (floor > believable) {
    out.refused = fault::counter_full;
    return out;
  }
  const server_time newest = goes_on ? std::max(seen->last_time, wall_) : wall_;
  data_.record = w.record;
  data_.record->floor = floor;
  data_.record->last_time = newest;
  out.number = 1;
  return out;
}

node::answer node::look() const {
  answer out;
  out.time = wall_;
  out.number = data_.record ? 1 : 0;
  return out;
}

void node::damage(bool floor) {
  (floor ? data_.record->floor : data_.record->epoch) = token_max.value;
}

void node::remove(lock_index lock) {
  if (lock < data_.locks.size()) data_.locks[lock] = {};
}

void node::forget_counter(lock_index lock) {
  if (lock < data_.counters.size()) data_.counters[lock] = {};
}

std::uint64_t node::value_of(lock_index lock) const noexcept {
  if (lock >= data_.locks.size()) return 0;
  const data::key& k = data_.locks[lock];
  return lives(k.ends) ? k.value : 0;
}

milliseconds node::longest() const noexcept {
  std::int64_t ends = now();
  for (const data::key& k : data_.locks) ends = std::max(ends, k.ends);
  return milliseconds{ends - now()};
}

const node::data::session* node::session_of(session_index session) const noexcept {
  if (session >= data_.sessions.size()) return nullptr;
  const data::session& s = data_.sessions[session];
  return s.there && lives(s.ends) ? &s : nullptr;
}

node::data::session& node::place_of(session_index session) {
  return grown(data_.sessions, session);
}

std::size_t node::size() const noexcept {
  const auto living = [&](const auto& all, auto is) {
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is));
  };
  return living(data_.locks, [&](const auto& k) { return k.value != 0 && lives(k.ends); }) +
         living(data_.counters, [&](const auto& c) { return c.token != 0 && lives(c.ends); }) +
         living(data_.sessions, [&](const auto& s) { return s.there && lives(s.ends); });
}

}  // namespace holdfast::sim::redlock
