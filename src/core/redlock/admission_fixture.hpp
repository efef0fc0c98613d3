#pragma once

#include "core/lease.hpp"
#include "core/redlock/admission.hpp"
#include "core/start_fixture.hpp"

namespace holdfast::core::redlock {

using namespace std::chrono_literals;
using standing = admission::standing;

constexpr duration max_ttl = 60s;
inline const duration wait = takeover_after(max_ttl);
constexpr duration timeout = 50ms;

inline node_record record_of(node_index i, std::uint64_t epoch = 3) {
  node_record r;
  r.id = "id" + std::to_string(i);
  r.nonce = "nonce" + std::to_string(i);
  r.epoch = epoch;
  r.run_id = "run" + std::to_string(i);
  r.floor = 100 + i;
  r.max_ttl = max_ttl;
  r.config_hash = "list";
  return r;
}

inline node_facts healthy(node_index i, std::uint64_t epoch = 3) {
  node_facts f;
  f.address = "host" + std::to_string(i);
  f.run_id = "run" + std::to_string(i);
  f.record = record_of(i, epoch);
  return f;
}

/// A store whose nodes do at once what is asked of them.
struct store {
  explicit store(std::size_t nodes = 3, bool tokens = true, duration longest = max_ttl)
      : a({.nodes = nodes,
           .tokens = tokens,
           .max_ttl = longest,
           .timeout = timeout,
           .config_hash = "list",
           .seed = 5}),
        keeps(!tokens) {
    for (node_index i = 0; i < nodes; ++i) facts.push_back(healthy(i));
  }
  void connect(node_index i, time_point now) {
    facts[i].asked = now;
    serve(a.looked_at(i, facts[i], fresh(), now), now);
  }
  void connect_all(time_point now) {
    for (node_index i = 0; i < facts.size(); ++i) connect(i, now);
  }
  std::string fresh() { return "fresh" + std::to_string(++nonces); }
  void tick(time_point now) { serve(a.tick(now), now); }

  /// Who waited until `now` is looked at once more within the next node timeouts, and comes back.
  void come_back(time_point now) {
    for (int i = 0; i <= admission::return_first; ++i) tick(now + i * timeout);
  }

  write_reply execute(const write& w) {
    auto& there = facts[w.node].record;
    const bool same =
        there ? there->nonce == w.nonce_seen && there->epoch == w.epoch_seen : w.nonce_seen.empty();
    if (same) there = w.record;
    return same ? write_reply::written : write_reply::changed;
  }
  void serve(const admission::step& s, time_point now) {
    wake = s.wake;
    for (const write& w : s.writes) {
      writes.push_back(w);
      serve(a.written(w, execute(w), now), now);
    }
    for (const seal& x : s.seals) {
      seals.push_back(x);
      if (!answers_seals) continue;
      auto& there = *facts[x.node].record;
      const bool same = there.nonce == x.nonce;
      seal_reply r{seal_reply::result::refused, 0, same ? there.epoch : 0};
      if (same && there.epoch < x.epoch) {
        r = {seal_reply::result::sealed, there.floor, 0};
        there.epoch = x.epoch;
      }
      serve(a.sealed(x, r, now), now);
    }
    for_each(s.look, [&](node_index i) { connect(i, now); });
    if (keeps && a.notes() != file) keep(now);
  }
  /// With tokens off: the notes go to a file at once, while `keeps`.
  void keep(time_point now) {
    const life_notes asked = a.notes();
    file.add(asked, now);
    serve(a.kept(asked, file, now), now + 1ns);
  }

  admission a;
  std::vector<node_facts> facts;
  std::vector<write> writes;
  std::vector<seal> seals;
  time_point wake;
  int nonces{};
  bool keeps{};
  bool answers_seals{true};
  life_notes file;
};

inline constexpr server_time clock_before{1'700'000'000s};

/// Three nodes that vote; the clock of node 0 was read, and was `clock_before`.
inline store a_watched_store() {
  store s;
  s.connect_all(t0);
  s.serve(s.a.on_time(0, clock_before, t0, t0 + 1ms), t0);
  return s;
}

}  // namespace holdfast::core::redlock
