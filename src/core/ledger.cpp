#include "core/ledger.hpp"

#include "core/assert.hpp"
#include "core/conflict.hpp"
#include "core/lease.hpp"
#include "core/queue.hpp"
#include "core/replies.hpp"
#include "core/rules.hpp"

#include <algorithm>
#include <memory>

namespace holdfast::core {

namespace {

constexpr std::size_t sweep_max = 100;

bool same_request(const entry& e, const session_id& id, std::uint64_t inc, std::uint64_t request) {
  return e.request == request && e.inc == inc && e.owner == id;
}

}  // namespace

std::uint64_t ledger::next_number() {
  HOLDFAST_ASSERT(last_ < token_max.value);
  ++revision_;
  return ++last_;
}

session_record* ledger::find(const session_id& id, std::uint64_t inc) {
  const auto at = sessions_.find(id);
  return at == sessions_.end() || at->second.at.inc != inc ? nullptr : &at->second;
}

const session_record* ledger::find(const session_id& id, std::uint64_t inc) const {
  const auto at = sessions_.find(id);
  return at == sessions_.end() || at->second.at.inc != inc ? nullptr : &at->second;
}

open_reply ledger::open(const open_request& r) {
  const auto there = sessions_.find(r.draft.id);
  if (there != sessions_.end() && there->second.at.denied) {
    return reply_with<open_reply>(status::denied, denial_text(there->second));
  }
  // One that is there is our own: the answer to its opening was lost.
  if (there == sessions_.end()) {
    session_record record = r.draft;
    record.at = {.inc = next_number(), .beat = 0, .denied = false};
    record.gate = 1;
    sessions_.emplace(record.id, std::move(record));
  }
  const session_record& record = sessions_.at(r.draft.id);
  open_reply reply;
  reply.what = status::ok;
  reply.at = record.at;
  reply.gate = record.gate;
  return reply;
}

beat_reply ledger::beat(const beat_request& r) {
  session_record* record = find(r.id, r.inc);
  if (record == nullptr) {
    if (active.beat_never_revives)
      return reply_with<beat_reply>(status::gone, no_session_text(r.id));
    // What the simulator has to find: a session that was taken over comes back.
    record = &sessions_[r.id];
    *record = {.id = r.id, .at = {.inc = r.inc}, .ttl = ttl_default, .gate = 1};
  }
  if (active.refuse_denied && record->at.denied) {
    return reply_with<beat_reply>(status::denied, denial_text(*record));
  }
  // Never the attempt's number: a late, repeated attempt would bring an old version back, and a
  // successor that had noted that one would take it for silence.
  ++record->at.beat;
  ++revision_;
  beat_reply reply;
  reply.what = status::ok;
  reply.proves = r.attempt;
  return reply;
}

void ledger::erase(const session_id& id) {
  sessions_.erase(id);
  ++revision_;
  // Entries of the dead are worth a walk of all queues, a few at a time.
  unswept_ = lock_name("");
}

reply ledger::close(const close_request& r) {
  if (find(r.id, r.inc) == nullptr) return {status::gone, no_session_text(r.id)};
  erase(r.id);
  return {status::ok, {}};
}

bool ledger::is_live(const entry& e) const { return find(e.owner, e.inc) != nullptr; }

void ledger::sweep_some() {
  if (!unswept_) return;
  auto at = queues_.lower_bound(*unswept_);
  for (std::size_t looked = 0; looked < sweep_max && at != queues_.end(); ++looked) {
    std::erase_if(at->second, [&](const entry& e) { return !is_live(e); });
    at = at->second.empty() ? queues_.erase(at) : std::next(at);
  }
  unswept_ = at == queues_.end() ? std::nullopt : std::optional(at->first);
}

std::vector<entry> ledger::live(const queue& q) const {
  std::vector<entry> entries;
  entries.reserve(q.size() + 1);
  std::copy_if(q.begin(), q.end(), std::back_inserter(entries),
               [&](const entry& e) { return is_live(e); });
  return entries;
}

queue_view ledger::view(const std::vector<entry>& entries, token mine) const {
  queue_view v;
  v.mine = mine;
  if (granted(entries, mine)) {
    v.what = status::ok;
    return v;
  }
  v.what = status::queued;
  v.targets = watch_targets(entries, mine);
  v.ahead.reserve(ahead_of(entries, mine));
  for (const entry& e : entries) {
    if (!(e.order < mine)) break;
    const session_record& s = sessions_.at(e.owner);
    if (!v.first) v.first = std::make_shared<const session_record>(s);
    v.ahead.push_back(rival_of(e, s));
  }
  // Whoever waits has somebody to wait for, and is woken when that one goes.
  HOLDFAST_ASSERT(!v.ahead.empty() && !v.targets.empty());
  return v;
}

queue_view ledger::enqueue(const enqueue_request& r) {
  const session_record* self = find(r.id, r.inc);
  if (self == nullptr) return reply_with<queue_view>(status::gone, no_session_text(r.id));
  if (self->at.denied) return reply_with<queue_view>(status::denied, denial_text(*self));

  sweep_some();
  std::vector<entry> entries;
  const auto there = queues_.find(r.name);
  if (there != queues_.end()) entries = live(there->second);
  // Before the gate: it shuts out what comes late, and this one is there.
  for (const entry& e : entries) {
    if (same_request(e, r.id, r.inc, r.request)) return view(entries, e.order);
  }
  if (active.gate_unknown_enqueue && r.gate != self->gate) {
    auto v = reply_with<queue_view>(status::stale_gate, "an earlier gate");
    v.gate = self->gate;
    return v;
  }
  if (active.permits_agree && !fits(entries, r.how)) {
    const mode used = entries.front().how;
    // Nothing is stored: the claim has to see all that are in its way, and take the dead of them.
    entries.push_back({.order = token_max, .owner = r.id, .inc = r.inc, .request = r.request});
    return conflict(view(entries, token_max), used, r.how);
  }
  return append(r, std::move(entries));
}

queue_view ledger::append(const enqueue_request& r, std::vector<entry> entries) {
  const entry mine{.order = token{last_ + 1},
                   .owner = r.id,
                   .inc = r.inc,
                   .request = r.request,
                   .how = r.how,
                   .since = r.since};
  // Orders grow, as they are the tokens: the queue rules look for them by halves.
  HOLDFAST_ASSERT(entries.empty() || entries.back().order < mine.order);
  entries.push_back(mine);
  queue_view v = view(entries, mine.order);
  if (v.what == status::queued && r.leave_if_busy) {
    v.what = status::busy;
    v.mine = {};
    v.targets.clear();
    return v;
  }
  // Behind the answer to a try, which leaves no entry and needs no room.
  if (entries.size() > waiters_max) {
    return reply_with<queue_view>(status::too_many, too_many_text());
  }
  const std::uint64_t order = next_number();
  HOLDFAST_ASSERT(order == mine.order.value);
  // Without the dead, so that a name that is asked for needs no sweep.
  queues_.insert_or_assign(r.name, std::move(entries));
  return v;
}

leave_reply ledger::leave(const leave_request& r) {
  // Also when the session is gone: then there is one dead entry less.
  const auto at = queues_.find(r.name);
  if (at != queues_.end()) {
    const auto removed = std::erase_if(at->second, [&](const entry& e) {
      if (e.owner != r.id || e.inc != r.inc) return false;
      return r.order.value != 0 ? e.order == r.order : e.request == r.request;
    });
    revision_ += removed;
    if (at->second.empty()) queues_.erase(at);
  }
  session_record* self = find(r.id, r.inc);
  if (self == nullptr) return reply_with<leave_reply>(status::gone, no_session_text(r.id));
  if (r.move_gate) {
    ++self->gate;
    ++revision_;
  }
  leave_reply reply;
  reply.what = status::ok;
  reply.gate = self->gate;
  return reply;
}

queue_view ledger::confirm(const confirm_request& r) const {
  const session_record* self = find(r.id, r.inc);
  if (self == nullptr) return reply_with<queue_view>(status::gone, no_session_text(r.id));
  if (self->at.denied) return reply_with<queue_view>(status::denied, denial_text(*self));
  const auto q = queues_.find(r.name);
  const auto entries = q == queues_.end() ? std::vector<entry>{} : live(q->second);
  const bool own = std::any_of(entries.begin(), entries.end(), [&](const entry& e) {
    return e.order == r.order && e.owner == r.id && e.inc == r.inc;
  });
  if (!own) return reply_with<queue_view>(status::gone, "the entry is not there");
  return view(entries, r.order);
}

take_reply ledger::take(const take_request& r) {
  const auto at = sessions_.find(r.id);
  if (at == sessions_.end()) return reply_with<take_reply>(status::gone, no_session_text(r.id));
  if (active.compare_on_take && at->second.at != r.seen) {
    auto reply =
        reply_with<take_reply>(status::changed, "the session has changed since it was seen");
    reply.at = at->second.at;
    return reply;
  }
  erase(r.id);
  return reply_with<take_reply>(status::ok);
}

deny_reply ledger::deny(const deny_request& r) {
  const auto at = sessions_.find(r.id);
  if (at == sessions_.end()) return reply_with<deny_reply>(status::gone, no_session_text(r.id));
  session_record& record = at->second;
  deny_reply reply;
  reply.what = status::ok;
  reply.already = record.at.denied;
  reply.ttl = record.ttl;
  if (reply.already) return reply;
  // Part of the version: whoever noted the session before counts its silence anew.
  record.at.denied = true;
  record.denied_by = r.by;
  record.denied_why = r.why;
  ++revision_;
  return reply;
}

listing ledger::list() const {
  listing all;
  all.what = status::ok;
  all.revision = revision_;
  for (const auto& [id, record] : sessions_) all.sessions.push_back(record);
  for (const auto& [name, q] : queues_) {
    auto entries = live(q);
    if (!entries.empty()) all.locks.push_back({name, std::move(entries)});
  }
  return all;
}

glance_reply ledger::glance(const glance_request& r) const {
  glance_reply reply;
  reply.what = status::ok;
  for (const session_id& id : r.whom) {
    const auto at = sessions_.find(id);
    if (at != sessions_.end()) reply.there.push_back(at->second);
  }
  // In a circle, so that from a random place every record has its chance.
  auto at = sessions_.lower_bound(r.from);
  for (std::size_t n = std::min(r.others, sessions_.size()); n > 0; --n) {
    if (at == sessions_.end()) at = sessions_.begin();
    reply.there.push_back((at++)->second);
  }
  return reply;
}

bool ledger::alive(const lock_name& name, token order) const {
  const auto at = queues_.find(name);
  if (at == queues_.end()) return false;
  return std::any_of(at->second.begin(), at->second.end(),
                     [&](const entry& e) { return e.order == order && is_live(e); });
}

}  // namespace holdfast::core
