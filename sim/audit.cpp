#include "sim/oracle.hpp"
#include "sim/process.hpp"
#include "sim/store.hpp"

#include <algorithm>

namespace holdfast::sim {

using stage = case_record::stage;

namespace {

/// The rule of the queue once more, in the words of holdfast/mode.hpp.
bool may_hold(const std::vector<core::entry>& live, std::size_t i) {
  const mode& how = live[i].how;
  if (how.is_exclusive()) return i == 0;
  if (how.is_permits()) return i < how.limit();
  return std::none_of(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(i),
                      [](const core::entry& e) { return !e.how.is_shared(); });
}

}  // namespace

void oracle::audit(const store& s) {
  const moment now = context_.time.now();
  if (now < judged_from_) return;
  for (const auto& [key, h] : locks_) {
    if (key.first != s.index()) continue;
    for (const case_record& c : h.cases) {
      const bool waits = c.at == stage::asking && valid(*c.who);
      if (waits && now - std::max(c.since, judged_from_) > longest_wait_) {
        context_.fail("s" + std::to_string(c.who->index) + " starves: it waits for name " +
                      std::to_string(key.second) + " for longer than anybody has to");
      }
    }
  }
  const core::listing all = s.table().list();
  for (const core::listed_lock& l : all.locks) audit_lock(all, l, s.index());
  if (context_.setup.patrols) audit_records(all, s.index());
  std::erase_if(since_, [this, &s](const auto& p) {
    return std::get<0>(p.first) == s.index() && !still_.contains(p.first);
  });
  still_.clear();
}

void oracle::audit_records(const core::listing& all, int store) {
  for (const auto& r : all.sessions) {
    const session_truth* owner = context_.session_at(r.where);
    if (owner == nullptr || (owner->owner->is(owner->incarnation) && !owner->final)) continue;
    lasts({store, r.at.inc, trouble::record}, longest_wait_,
          "the record of a dead session stays, by its incarnation");
  }
}

session_truth* oracle::owner_of(const core::listing& all, const session_id& id) {
  const auto at = std::ranges::find(all.sessions, id, &core::session_record::id);
  if (at == all.sessions.end()) return nullptr;
  return context_.session_at(at->where);
}

void oracle::audit_lock(const core::listing& all, const core::listed_lock& l, int store) {
  bool somebody_waits = false;  // Behind the entry at hand, and alive.
  for (std::size_t i = l.entries.size(); i-- > 0;) {
    session_truth* owner = owner_of(all, l.entries[i].owner);
    if (owner == nullptr) continue;
    const bool dead = !owner->owner->is(owner->incarnation) || owner->final;
    if (!dead) {
      audit_entry(l, i, *owner, store);
      somebody_waits = somebody_waits || !may_hold(l.entries, i);
    } else if (somebody_waits) {
      lasts({store, l.entries[i].order.value, trouble::dead}, longest_wait_,
            "an entry of a dead session stays in the way");
    }
  }
}

void oracle::audit_entry(const core::listed_lock& l, std::size_t i, session_truth& owner,
                         int store) {
  const core::entry& e = l.entries[i];
  const case_record* known = nullptr;
  for (const auto& [key, h] : locks_) {
    if (key.first != store || name_number(key.second) != l.name) continue;
    for (const case_record& c : h.cases) {
      const bool same = c.order == e.order || (c.order == token{} && c.at != stage::holding);
      if (c.who == &owner && same) known = &c;
    }
  }
  if (known == nullptr) {
    lasts({store, e.order.value, trouble::ownerless}, longest_wake_ + std::chrono::seconds{2},
          "an entry that its session does not know stays in the queue");
  } else if (known->at == stage::asking && known->order == e.order && may_hold(l.entries, i)) {
    lasts({store, e.order.value, trouble::not_woken}, longest_wake_,
          "a waiter whose turn it is was not woken");
  }
}

void oracle::lasts(const symptom& s, duration limit, const char* text) {
  const moment now = context_.time.now();
  const moment first = since_.emplace(s, now).first->second;
  still_[s] = first;
  if (now - first > limit) {
    context_.fail(std::string(text) + ": order " + std::to_string(std::get<1>(s)) + " in store " +
                  std::to_string(std::get<0>(s)));
  }
}

}  // namespace holdfast::sim
