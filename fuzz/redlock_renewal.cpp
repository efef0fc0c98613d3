// Any order of answers, repairs and ends: no lease is longer than what a majority of the nodes has
// promised for its key, and what ends is told once.
#include "core/redlock/renewal.hpp"

#include "core/lease.hpp"
#include "fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

namespace {

using namespace holdfast;
using namespace holdfast::core;
using namespace holdfast::core::redlock;

constexpr duration ttl = std::chrono::seconds{10};
constexpr time_point never = time_point::min();
constexpr std::size_t nodes_most = 5;

class run {
 public:
  explicit run(fuzz::bytes in) : in_(in) {}

  void all() {
    while (!in_.empty()) event();
  }

 private:
  /// One lock, with what its nodes have said of it.
  struct held {
    lease own{};
    renewal::handle at{};
    std::array<time_point, nodes_most> there{};
    bool lives{};
  };
  struct asked {
    renewal::batch what;
    time_point sent;
    node_set left;
    std::vector<std::uint8_t> confirmed;
  };
  struct asked_repair {
    renewal::repair what;
    time_point sent;
  };

  void event() {
    now_ += ttl * (in_.next() % 64) / 300;
    switch (in_.next() % 10) {
      case 0:
        // Now and then so many that batches wait for each other.
        for (int more = in_.next() % 16 == 0 ? 300 : 1; more > 0; --more) add();
        return check();
      case 1:
        return remove();
      case 2:
      case 3:
        return follow(machine_.tick(now_));
      case 4:
        return follow(machine_.beat(now_));
      case 5:
        return repaired();
      default:
        return answered();
    }
  }

  void add() {
    if (denied_ || all_.size() >= 700) return;
    held& h = all_.emplace_back();
    const node_set there = some() | node_set::all(majority(nodes_));
    const time_point until = now_ + usable(ttl);
    h.there.fill(never);
    for_each(there, [&](node_index i) { h.there[i] = until; });
    h.own.start(until);
    h.lives = true;
    h.at = machine_.add(h.own, there, until, token{1});
  }

  void remove() {
    if (all_.empty()) return;
    held& h = all_[in_.next() % all_.size()];
    if (!h.lives) return;
    h.lives = false;
    machine_.remove(h.at);
    check();
  }

  void answered() {
    if (sent_.empty()) return;
    asked& a = sent_[in_.next() % sent_.size()];
    const auto i = static_cast<node_index>(in_.next() % nodes_);
    if (!a.left.has(i)) return;
    a.left.remove(i);
    // The answers of one node come in the order of its commands.
    for (asked& earlier : sent_) {
      if (earlier.what.number < a.what.number) earlier.left.remove(i);
    }
    renewal::answer r;
    const std::uint8_t how = in_.next() % 16;
    r.session = how == 0   ? renewal::session_there::missing
                : how == 1 ? renewal::session_there::denied
                           : renewal::session_there::holds;
    const std::uint8_t lost = in_.next();
    for (std::size_t k = 0; k < a.what.locks.size(); ++k) {
      const bool ours = lost < 128 || (lost >> (k % 7) & 1U) != 0;
      r.ours.set(k, ours);
      note(a, k, i, r.session, ours);
    }
    follow(machine_.answered(a.what.number, i, r, now_));
  }

  void note(asked& a, std::size_t k, node_index i, renewal::session_there session, bool ours) {
    held* h = find(a.what.locks[k]);
    if (h == nullptr || session == renewal::session_there::denied) return;
    const bool has = session == renewal::session_there::holds && ours;
    if (has) ++a.confirmed[k];
    h->there[i] = has ? std::max(h->there[i], a.sent + usable(ttl)) : never;
  }

  void repaired() {
    if (repairs_.empty()) return;
    const std::size_t which = in_.next() % repairs_.size();
    const asked_repair r = repairs_[which];
    repairs_.erase(repairs_.begin() + static_cast<std::ptrdiff_t>(which));
    const bool done = in_.next() % 4 != 0;
    held* h = find(r.what.lock);
    if (h != nullptr && done) {
      time_point& there = h->there[r.what.node];
      there = std::max(there, r.sent + usable(ttl));
    }
    follow(machine_.repaired(r.what.number, done, now_));
  }

  void follow(const renewal::step& s) {
    for (const renewal::batch& b : s.send) {
      MUST(!denied_ && b.locks.size() <= renewal::batch_max);
      for (const auto& h : b.locks) MUST(find(h) != nullptr);
      sent_.push_back({b, now_, node_set::all(nodes_), {}});
      sent_.back().confirmed.resize(b.locks.size());
      // Answers to older ones prove nothing that newer ones do not.
      if (sent_.size() > 4) sent_.pop_front();
    }
    for (const renewal::repair& r : s.repairs) {
      held* h = find(r.lock);
      MUST(h != nullptr && h->there[r.node] == never && h->own.until() > now_);
      MUST(r.at_least == token{1} && confirmed(r.lock));
      repairs_.push_back({r, now_});
    }
    for (const renewal::loss& l : s.lost) {
      held* h = find(l.lock);
      MUST(h != nullptr && h->own.is_lost());
      MUST(l.why == (s.denied ? errc::denied : errc::lost));
      h->lives = false;
    }
    MUST(!s.denied || !denied_);
    denied_ = denied_ || s.denied;
    check();
  }

  void check() {
    std::size_t live = 0;
    for (held& h : all_) {
      live += h.lives ? 1U : 0U;
      if (!h.lives) continue;
      MUST(!denied_);
      const auto promise_it = [&](time_point there) { return there >= h.own.until(); };
      const auto last = h.there.begin() + static_cast<std::ptrdiff_t>(nodes_);
      const auto promised = std::count_if(h.there.begin(), last, promise_it);
      MUST(h.own.is_lost() || 2 * static_cast<std::size_t>(promised) > nodes_);
      node_set where;
      for (node_index i = 0; i < nodes_; ++i) {
        if (h.there[i] != never) where.add(i);
      }
      MUST(machine_.nodes_of(h.at) == where);
    }
    MUST(machine_.size() == live);
  }

  /// A majority has just said that the key is ours.
  bool confirmed(const renewal::handle& h) const {
    return std::any_of(sent_.begin(), sent_.end(), [&](const asked& a) {
      const auto& locks = a.what.locks;
      const auto at = std::find(locks.begin(), locks.end(), h);
      return at != locks.end() &&
             a.confirmed[static_cast<std::size_t>(at - locks.begin())] >= majority(nodes_);
    });
  }

  held* find(const renewal::handle& h) {
    for (held& one : all_) {
      if (one.lives && one.at == h) return &one;
    }
    return nullptr;
  }

  node_set some() {
    node_set s;
    const std::uint8_t bits = in_.next();
    for (node_index i = 0; i < nodes_; ++i) {
      if ((bits >> i & 1U) != 0) s.add(i);
    }
    return s;
  }

  fuzz::bytes in_;
  const std::size_t nodes_{1 + in_.next() % nodes_most};
  time_point now_{std::chrono::hours{1}};
  renewal machine_{{.nodes = nodes_, .ttl = ttl, .period = {}}, now_};
  std::deque<held> all_;
  std::deque<asked> sent_;
  std::vector<asked_repair> repairs_;
  bool denied_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(fuzz::bytes(data, size)).all();
  return 0;
}
