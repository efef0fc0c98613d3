#include "core/ledger.hpp"
#include "core/queue.hpp"
#include "tests/engine/conformance.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>

/// Random sequences of operations, an engine against the reference ledger, reply by reply.
///
/// The two give different numbers (orders, incarnations, beats, gates), so every number of one is
/// paired with the first number of the other it stood beside, and must stay paired.

namespace holdfast::conformance {
namespace {

using namespace core;

class engine_differential : public engine_test {};
INSTANTIATE_TEST_SUITE_P(on, engine_differential, testing::ValuesIn(built_engines()), kind_name);

/// An order-preserving pairing of two sequences of numbers.
class pairing {
 public:
  bool same(std::uint64_t a, std::uint64_t b) {
    const auto [at, fresh] = pairs_.emplace(a, b);
    if (!fresh) return at->second == b;
    const auto after = std::next(at);
    const bool above = at == pairs_.begin() || std::prev(at)->second < b;
    return above && (after == pairs_.end() || b < after->second);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> pairs_{{0, 0}};
};

/// A session as both sides number it: [0] the engine, [1] the ledger.
struct twin_session {
  session_id id;
  version at[2]{};
  std::uint64_t gate[2]{};
  std::uint64_t requests{};
};
struct twin_entry {
  std::size_t owner{};
  std::string name;
  std::uint64_t request{};
  token order[2]{};
};

class twins {
 public:
  twins(asker& e, std::uint64_t seed, bool skips_denied_waiters)
      : engine_(e), random_(seed), skips_denied_waiters_(skips_denied_waiters) {}

  /// One random operation on both; what differed, or nothing.
  std::string step();

 private:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  twin_session& some_session() { return sessions_[pick(sessions_.size())]; }

  std::string open();
  std::string beat();
  std::string close();
  std::string enqueue();
  std::string leave();
  std::string confirm();
  std::string take();
  std::string deny();
  std::string list();
  void drop_waiting(const session_id& id);
  std::vector<token> granted_in(const std::string& name) const;

  bool same(const version& a, const version& b) {
    return incs_.same(a.inc, b.inc) && beats_[a.inc].same(a.beat + 1, b.beat + 1) &&
           a.denied == b.denied;
  }
  bool same(token a, token b) { return orders_.same(a.value, b.value); }
  bool same(const rival& a, const rival& b) {
    return same(a.order, b.order) && a.owner == b.owner && same(a.at, b.at) && a.ttl == b.ttl &&
           a.where == b.where && a.pid == b.pid && a.how == b.how && a.since == b.since;
  }
  bool same(const session_record& a, const session_record& b) {
    return a.id == b.id && same(a.at, b.at) && a.ttl == b.ttl &&
           gates_.same(a.gate + 1, b.gate + 1) && a.where == b.where && a.opened == b.opened &&
           a.owner.label == b.owner.label && a.denied_by == b.denied_by &&
           a.denied_why == b.denied_why;
  }
  bool same(const entry& a, const entry& b) {
    return same(a.order, b.order) && a.owner == b.owner && incs_.same(a.inc, b.inc) &&
           a.request == b.request && a.how == b.how && a.since == b.since;
  }
  template <class T>
  bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const T& x, const T& y) { return same(x, y); });
  }
  bool same(const listed_lock& a, const listed_lock& b) {
    return a.name == b.name && same(a.entries, b.entries);
  }
  std::string compare(const queue_view& a, const queue_view& b);
  template <class... Parts>
  static std::string differ(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
  }

  asker& engine_;
  ledger ledger_{7};
  std::mt19937_64 random_;
  std::vector<twin_session> sessions_;
  std::vector<twin_entry> entries_;
  pairing incs_, orders_, gates_;
  std::map<std::uint64_t, pairing> beats_;
  bool skips_denied_waiters_;
  std::set<token> told_;   ///< The ledger's orders of entries whose owner was told that it holds.
  std::set<token> given_;  ///< Of those that were told by the leave of another.
};

std::string twins::compare(const queue_view& a, const queue_view& b) {
  if (a.what != b.what) return differ(a.what, " instead of ", b.what);
  const bool entered = a.what == status::ok || a.what == status::queued;
  if (entered && !same(a.mine, b.mine)) return differ("order ", a.mine, " beside ", b.mine);
  if (a.what == status::stale_gate && !gates_.same(a.gate + 1, b.gate + 1)) return "gate";
  if (a.what != status::queued && a.what != status::busy) return {};
  if (!same(a.ahead, b.ahead)) return differ("ahead ", a.ahead.size(), " and ", b.ahead.size());
  if (a.what == status::queued && !same(a.targets, b.targets)) return "targets";
  if (!a.first != !b.first) return "first";
  if (a.first && !same(*a.first, *b.first)) return "first's record";
  return {};
}

std::string twins::open() {
  const bool again = !sessions_.empty() && chance(4);
  if (!again) sessions_.push_back({fresh_id()});
  auto& s = again ? some_session() : sessions_.back();
  const auto draft = draft_of(s.id, std::chrono::milliseconds{200 + s.id.bytes[8]});
  const auto a = engine_.open(draft);
  const auto b = ledger_.open(draft);
  if (a.what != b.what) return differ("open: ", a.what, " instead of ", b.what);
  if (a.what != status::ok) return {};
  if (!same(a.at, b.at) || !gates_.same(a.gate + 1, b.gate + 1)) return "open: version or gate";
  s.at[0] = a.at;
  s.at[1] = b.at;
  s.gate[0] = a.gate;
  s.gate[1] = b.gate;
  return {};
}

std::string twins::beat() {
  auto& s = some_session();
  const std::uint64_t other = chance(8) ? 1 : 0;
  const auto attempt = ++s.requests;
  const auto a = engine_.beat({s.id, s.at[0].inc + other, attempt});
  const auto b = ledger_.beat({s.id, s.at[1].inc + other, attempt});
  if (a.what != b.what) return differ("beat: ", a.what, " instead of ", b.what);
  if (a.proves != b.proves) return differ("beat: proves ", a.proves, " instead of ", b.proves);
  return {};
}

std::string twins::close() {
  auto& s = some_session();
  const std::uint64_t other = chance(4) ? 1 : 0;
  const auto a = engine_.close({s.id, s.at[0].inc + other});
  const auto b = ledger_.close({s.id, s.at[1].inc + other});
  return a.what == b.what ? std::string{} : differ("close: ", a.what, " instead of ", b.what);
}

std::string twins::enqueue() {
  auto& s = some_session();
  enqueue_request r;
  r.name = lock_name(std::string(1, static_cast<char>('a' + pick(4))));
  r.id = s.id;
  r.request = chance(6) ? s.requests : ++s.requests;
  const mode modes[] = {mode::exclusive(), mode::exclusive(), mode::shared(),
                        mode::shared(),    mode::permits(2),  mode::permits(3)};
  r.how = r.name.str() == "d" ? mode::permits(2) : modes[pick(chance(8) ? 6 : 4)];
  r.leave_if_busy = chance(3);
  r.since = wall_time{std::chrono::microseconds{s.requests}};
  const std::uint64_t older = chance(12) && s.gate[0] > 0 && s.gate[1] > 0 ? 1 : 0;
  queue_view v[2];
  for (int side = 0; side < 2; ++side) {
    r.inc = s.at[side].inc;
    r.gate = s.gate[side] - older;
    v[side] = side == 0 ? engine_.enqueue(r) : ledger_.enqueue(r);
  }
  const auto difference = compare(v[0], v[1]);
  if (!difference.empty()) return "enqueue of " + r.name.str() + ": " + difference;
  if (v[0].what == status::ok) told_.insert(v[1].mine);
  if (v[0].what == status::ok || v[0].what == status::queued) {
    const auto owner = static_cast<std::size_t>(&s - sessions_.data());
    entries_.push_back({owner, r.name.str(), r.request, {v[0].mine, v[1].mine}});
  }
  return {};
}

std::string twins::leave() {
  if (entries_.empty()) return {};
  const auto& e = entries_[pick(entries_.size())];
  auto& s = chance(8) ? some_session() : sessions_[e.owner];
  const bool unknown = chance(3);
  const auto before = granted_in(e.name);
  leave_reply r[2];
  for (int side = 0; side < 2; ++side) {
    const leave_request q{lock_name(e.name),
                          s.id,
                          s.at[side].inc,
                          e.request,
                          unknown ? token{} : e.order[side],
                          unknown};
    r[side] = side == 0 ? engine_.leave(q) : ledger_.leave(q);
  }
  if (r[0].what != r[1].what) return differ("leave: ", r[0].what, " instead of ", r[1].what);
  // An engine that records its holders gives the lock over in the same step.
  for (const token t : granted_in(e.name)) {
    if (std::ranges::find(before, t) != before.end()) continue;
    told_.insert(t);
    given_.insert(t);
  }
  if (r[0].what == status::ok && unknown) {
    if (!gates_.same(r[0].gate + 1, r[1].gate + 1)) return "leave: gate";
    s.gate[0] = r[0].gate;
    s.gate[1] = r[1].gate;
  }
  return {};
}

std::string twins::confirm() {
  if (entries_.empty()) return {};
  const auto& e = entries_[pick(entries_.size())];
  const auto& s = chance(8) ? some_session() : sessions_[e.owner];
  const auto a = engine_.confirm({lock_name(e.name), s.id, s.at[0].inc, e.order[0]});
  const auto b = ledger_.confirm({lock_name(e.name), s.id, s.at[1].inc, e.order[1]});
  // What was true when the lock was given over is answered once without a look.
  const bool given =
      skips_denied_waiters_ && s.id == sessions_[e.owner].id && given_.erase(e.order[1]) > 0;
  if (given && a.what == status::ok && same(a.mine, e.order[1])) return {};
  const auto difference = compare(a, b);
  if (a.what == status::ok) told_.insert(b.mine);
  return difference.empty() ? difference : "confirm: " + difference;
}

std::string twins::take() {
  const auto& s = some_session();
  version seen[2] = {s.at[0], s.at[1]};  // As opened: stale once it has beaten.
  const auto now = engine_.list();
  const auto reference = ledger_.list();
  if (chance(2)) {
    for (const auto& r : now.sessions) {
      if (r.id == s.id) seen[0] = r.at;
    }
    for (const auto& r : reference.sessions) {
      if (r.id == s.id) seen[1] = r.at;
    }
  }
  const auto a = engine_.take({s.id, seen[0]});
  const auto b = ledger_.take({s.id, seen[1]});
  if (a.what != b.what) return differ("take: ", a.what, " instead of ", b.what);
  return a.what != status::changed || same(a.at, b.at) ? std::string{} : "take: version";
}

std::string twins::deny() {
  const auto& s = some_session();
  const deny_request r{s.id, "op", std::to_string(random_() % 10)};
  const auto a = engine_.deny(r);
  const auto b = ledger_.deny(r);
  if (a.what != b.what) return differ("deny: ", a.what, " instead of ", b.what);
  if (skips_denied_waiters_ && b.what == status::ok && !b.already) drop_waiting(s.id);
  return a.what != status::ok || (a.already == b.already && a.ttl == b.ttl) ? std::string{}
                                                                            : "deny: reply";
}

/// What an engine that records its holders does by itself.
void twins::drop_waiting(const session_id& id) {
  for (const auto& lock : ledger_.list().locks) {
    for (const auto& e : lock.entries) {
      if (e.owner != id || told_.contains(e.order)) continue;
      ledger_.leave({lock.name, id, e.inc, e.request, e.order, false});
    }
  }
}

/// The ledger's orders.
std::vector<token> twins::granted_in(const std::string& name) const {
  std::vector<token> all;
  for (const auto& lock : ledger_.list().locks) {
    if (lock.name.str() != name) continue;
    for (const auto& e : lock.entries) {
      if (core::granted(lock.entries, e.order)) all.push_back(e.order);
    }
  }
  return all;
}

std::string twins::list() {
  const auto a = engine_.list();
  const auto b = ledger_.list();
  if (a.what != b.what) return differ("list: ", a.what);
  if (!same(a.sessions, b.sessions)) return "list: sessions";
  return same(a.locks, b.locks) ? std::string{} : "list: locks";
}

std::string twins::step() {
  if (sessions_.empty() || chance(20)) return open();
  switch (pick(40)) {
    case 0:
      return close();
    case 1:
      return take();
    case 2:
      return chance(2) ? deny() : std::string{};
    case 3:
    case 4:
    case 5:
      return list();
    case 6:
    case 7:
    case 8:
    case 9:
      return beat();
    default:
      break;
  }
  const auto which = pick(10);
  return which < 4 ? enqueue() : which < 7 ? leave() : confirm();
}

TEST_P(engine_differential, it_answers_like_the_ledger) {
  const char* given = std::getenv("HOLDFAST_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
  const int runs = count(10, 200);
  for (int run = 0; run < runs; ++run) {
    SetUp();  // A fresh engine object; sessions of earlier runs are closed below.
    const std::uint64_t this_seed = seed + static_cast<std::uint64_t>(run);
    twins both(ask(), this_seed, GetParam().skips_denied_waiters);
    for (int i = 0; i < 2000; ++i) {
      ASSERT_EQ(both.step(), "") << "step " << i
                                 << "; repeat with HOLDFAST_TEST_SEED=" << this_seed;
    }
    const auto left = ask().list();
    for (const auto& s : left.sessions) ask().close({s.id, s.at.inc});
  }
}

}  // namespace
}  // namespace holdfast::conformance
