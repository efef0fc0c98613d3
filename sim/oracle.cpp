#include "sim/oracle.hpp"

#include "sim/process.hpp"
#include "sim/store.hpp"

#include <algorithm>

namespace holdfast::sim {

using stage = case_record::stage;

namespace {

bool never_together(const mode& a, const mode& b) {
  return a.is_exclusive() || b.is_exclusive() || a.is_permits() != b.is_permits();
}

}  // namespace

lock_name name_number(int i) { return lock_name("n" + std::to_string(i)); }

oracle::oracle(context& c) : context_(c) {
  using namespace std::chrono_literals;
  const scenario& s = c.setup;
  const bool faultless = s.lost == 0 && s.outage_every == 0s && s.crash_every == 0s;
  const duration poll = faultless ? 0s : s.poll * 2;
  judged_from_ = s.faulty + s.pause_most + s.late_most + s.timeout_most + 1s;
  longest_wake_ = poll + 20 * s.latency_most + 10ms;
  // Everybody who may be ahead holds once; the dead fall together, but perhaps twice in a row.
  const int workers = s.processes * s.sessions * s.workers;
  const duration dead = core::takeover_after(s.ttl_most) * 11 / 10 + poll;
  longest_wait_ = 3 * dead + workers * (s.hold_most + 10 * s.latency_most) + longest_wake_;
}

oracle::lock_history& oracle::of(int store, int name) { return locks_[{store, name}]; }

case_record* oracle::find(session_truth& who, int name, std::uint64_t serial) {
  auto& cases = of(who.store, name).cases;
  const auto at = std::ranges::find(cases, serial, &case_record::serial);
  return at == cases.end() ? nullptr : &*at;
}

bool oracle::valid(const session_truth& s) const noexcept {
  if (!s.owner->is(s.incarnation) || s.lease.is_lost()) return false;
  return s.lease.until() > s.machine->clock.read(context_.time.now());
}

std::uint64_t oracle::asks(session_truth& who, int name, const mode& how) {
  auto& cases = of(who.store, name).cases;
  std::erase_if(cases, [](const case_record& c) { return !c.who->owner->is(c.who->incarnation); });
  cases.push_back({.serial = ++serials_, .who = &who, .how = how, .since = context_.time.now()});
  return serials_;
}

void oracle::queued(session_truth& who, int name, std::uint64_t serial, token order) {
  if (auto* c = find(who, name, serial)) c->order = order;
}

void oracle::granted(const store& s, session_truth& who, int name, std::uint64_t serial, token t) {
  ++grants_;
  auto* c = find(who, name, serial);
  if (c == nullptr) return context_.fail("a grant that nobody asked for");
  c->order = t;
  c->at = stage::holding;
  context_.log.note(context_.time.now(), "granted, name and token", who.index, name,
                    static_cast<std::int64_t>(t.value));
  if (!valid(who)) context_.fail("granted although the session's lease is over");
  auto& h = of(who.store, name);
  check_tokens(h, *c);
  check_others(h, *c);
  check_turn(s, h, *c, name);
}

void oracle::check_tokens(lock_history& h, const case_record& c) {
  // Readers and permits learn of their grants in any order; each must still be above every writer.
  const token above = c.how.is_exclusive() ? h.newest : h.newest_exclusive;
  if (c.order <= above) {
    context_.fail("token " + std::to_string(c.order.value) + " is granted after " +
                  std::to_string(above.value));
  }
  h.newest = std::max(h.newest, c.order);
  if (c.how.is_exclusive()) h.newest_exclusive = c.order;
}

void oracle::check_others(const lock_history& h, const case_record& c) {
  std::size_t together = 0;
  std::uint32_t limit = c.how.limit();
  for (const case_record& o : h.cases) {
    if (o.at != stage::holding || !valid(*o.who)) continue;
    ++together;
    if (o.how.is_permits()) limit = std::min(limit, o.how.limit());
    if (o.serial != c.serial && never_together(c.how, o.how)) {
      context_.fail("s" + std::to_string(o.who->index) + " with token " +
                    std::to_string(o.order.value) + " and s" + std::to_string(c.who->index) +
                    " with token " + std::to_string(c.order.value) +
                    " hold at the same time what excludes each other");
    }
  }
  if (c.how.is_permits() && together > limit) {
    context_.fail(std::to_string(together) + " hold permits of " + std::to_string(limit));
  }
}

void oracle::check_turn(const store& s, const lock_history& h, const case_record& c, int name) {
  for (const case_record& o : h.cases) {
    const bool passed = o.at == stage::asking && o.order != token{} && o.order < c.order;
    if (!passed || !never_together(c.how, o.how) || !valid(*o.who)) continue;
    if (s.table().alive(name_number(name), o.order)) {
      context_.fail("s" + std::to_string(c.who->index) + " is granted before s" +
                    std::to_string(o.who->index) + ", who came earlier and still waits");
    }
  }
}

void oracle::worked(session_truth& who, int name, std::uint64_t serial) {
  const auto* c = find(who, name, serial);
  if (c == nullptr) return;
  auto& h = of(who.store, name);
  if (c->order < h.newest_worked) {
    context_.fail("check() says ok for token " + std::to_string(c->order.value) + " after " +
                  std::to_string(h.newest_worked.value) + " has worked");
  }
  if (c->how.is_exclusive()) h.newest_worked = std::max(h.newest_worked, c->order);
  const moment now = context_.time.now();
  if (who.denied_at && now > *who.denied_at + core::takeover_after(who.ttl)) {
    context_.fail("a denied session still works a whole ttl later");
  }
}

process* oracle::some_holder() {
  std::vector<process*> holders;
  for (const auto& [key, h] : locks_) {
    for (const case_record& c : h.cases) {
      if (c.at == stage::holding && valid(*c.who)) holders.push_back(c.who->owner);
    }
  }
  return holders.empty() ? nullptr : holders[context_.dice.below(holders.size())];
}

void oracle::leaves(session_truth& who, int name, std::uint64_t serial) {
  if (auto* c = find(who, name, serial)) c->at = stage::leaving;
}

void oracle::ends(session_truth& who, int name, std::uint64_t serial) {
  std::erase_if(of(who.store, name).cases,
                [serial](const case_record& c) { return c.serial == serial; });
}

}  // namespace holdfast::sim
