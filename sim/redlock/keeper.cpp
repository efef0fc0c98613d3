#include "sim/redlock/keeper.hpp"

#include "core/lease.hpp"
#include "sim/redlock/client.hpp"
#include "sim/redlock/driver_rules.hpp"

#include <algorithm>

namespace holdfast::sim::redlock {

namespace rl = core::redlock;

keeper::keeper(client& of)
    : of_(of),
      renewal_({of.of().nodes(), of.ttl()}, of.local()),
      ends_(of.local() + core::usable(of.ttl())) {}

void keeper::start() {
  tick_at(renewal_.wake());
  if (of_.of().setup.sessions_end) watch_session();
}

bool keeper::is_over() const {
  return of_.of().setup.sessions_end && drivers.ask_in_session && of_.local() >= ends_;
}

/// Only in time: what is over stays so.
void keeper::lengthen_session() {
  if (of_.local() < ends_) ends_ = std::max(ends_, renewal_.session_until());
}

void keeper::watch_session() {
  of_.at_local(ends_, [this] {
    if (stopped_) return;
    if (of_.local() < ends_) return watch_session();
    if (!is_over()) return;
    of_.close();
    of_.post(of_.of().time.now() + of_.ttl(), [this] { of_.of().replace(of_.place()); });
  });
}

keeper::handle keeper::add(contender& c) {
  const rl::attempt& a = c.round();
  const handle h = renewal_.add(c.own(), a.granted(), a.until(), a.chosen());
  tick_at(renewal_.wake());
  return h;
}

void keeper::follow(const step& s) {
  for (const auto& b : s.send) send(b);
  for (const auto& r : s.repairs) send(r);
  rl::for_each(s.reopen, [&](node_index i) { reopen(i); });
  for (const auto& lost : s.lost) {
    if (contender* c = of_handle(lost.lock)) c->lost();
  }
  if (s.denied) {
    // The program does not notice at once, and goes on trying with the same session.
    of_.post(of_.of().time.now() + 3 * of_.ttl(), [this] { of_.of().replace(of_.place()); });
  }
  judge();
  tick_at(s.wake);
}

void keeper::judge() {
  for (const auto& c : of_.contenders()) {
    if (c->valid()) of_.of().judge_holder(*c);
  }
}

contender* keeper::of_handle(const handle& h) {
  for (const auto& c : of_.contenders()) {
    if (c->holds(h)) return c.get();
  }
  return nullptr;
}

void keeper::send(const rl::renewal::batch& b) {
  if (stopped_ || is_over()) return;
  std::vector<node::held> locks;
  for (const handle& h : b.locks) {
    contender* c = of_handle(h);
    HOLDFAST_ASSERT(c != nullptr);
    c->sent_again();
    locks.emplace_back(c->lock(), c->value());
  }
  const bool tokens = of_.of().setup.tokens;
  const milliseconds ttl = in_ms(of_.ttl());
  rl::for_each(of_.nodes().keepers(), [&](node_index i) {
    if (!tokens && locks.empty()) return;
    of_.ask(
        i, of_.ttl(),
        [locks, ttl, tokens, session = of_.session(),
         nonce = of_.nodes().ballot_of(i).nonce](world::host& h) {
          return tokens ? h.server.renew(session, locks, ttl, nonce)
                        : h.server.renew_plain(locks, ttl);
        },
        [this, b, i, sent = of_.local()](const node::answer* a, std::uint64_t) {
          if (a == nullptr) return;
          if (a->time > server_time::zero()) of_.nodes().told_time(i, a->time, sent);
          answered(b, i, *a);
        });
  });
}

void keeper::answered(const rl::renewal::batch& b, node_index i, const node::answer& a) {
  using there = rl::renewal::session_there;
  rl::renewal::answer said;
  said.ours = a.ours;
  if (a.refused == fault::session_missing) said.session = there::missing;
  if (a.refused == fault::denied) said.session = there::denied;
  if (a.refused != fault::none && said.session == there::holds) {
    const bool doubt = rl::action_on(a.refused).look_again;
    if (doubt && of_.nodes().keepers().has(i)) of_.nodes().doubted(i);
    return;
  }
  if (said.session != there::denied) {
    for (std::size_t k = 0; k < b.locks.size(); ++k) {
      contender* c = of_handle(b.locks[k]);
      if (c != nullptr) c->heard(i, a.ours.test(k));
    }
  }
  const step s = renewal_.answered(b.number, i, said, of_.local());
  lengthen_session();
  follow(s);
}

void keeper::send(const rl::renewal::repair& r) {
  contender* c = of_handle(r.lock);
  HOLDFAST_ASSERT(c != nullptr);
  if (is_over() || !of_.nodes().voters().has(r.node)) {
    return of_.post(of_.of().time.now(),
                    [this, r] { follow(renewal_.repaired(r.number, false, of_.local())); });
  }
  c->repair_sent(r.node);
  node::acquisition a;
  a.lock = c->lock();
  a.session = of_.session();
  a.value = c->value();
  a.ttl = in_ms(of_.ttl());
  a.with = of_.nodes().ballot_of(r.node);
  of_.ask(
      r.node, of_.ttl(),
      [this, a, to = r.at_least.value, number = c->number(),
       over = of_.local() + of_.ttl()](world::host& h) {
        world& w = of_.of();
        const node::answer done = w.setup.tokens ? h.server.repair(a, to)
                                                 : h.server.acquire_plain(a.lock, a.value, a.ttl);
        const bool is_set = done.refused == fault::none && done.number == 1;
        if (is_set && of_.local() < over) w.judge.sets(number);
        return done;
      },
      [this, r](const node::answer* said, std::uint64_t) {
        const bool done = said != nullptr && said->refused == fault::none && said->number == 1;
        contender* holder = of_handle(r.lock);
        if (holder != nullptr && said != nullptr) holder->repair_answered(r.node);
        if (holder != nullptr && done) holder->heard(r.node, true);
        follow(renewal_.repaired(r.number, done, of_.local()));
      });
}

void keeper::reopen(node_index i) {
  if (is_over()) return;
  of_.ask(
      i, of_.of().setup.node_timeout,
      [session = of_.session(), ttl = in_ms(of_.ttl()),
       nonce = of_.nodes().ballot_of(i).nonce](world::host& h) {
        h.server.load_scripts();
        return h.server.open(session, ttl, nonce);
      },
      [this, i](const node::answer* a, std::uint64_t) {
        follow(renewal_.reopened(i, a != nullptr && a->number == 1, of_.local()));
      });
}

void keeper::tick_at(time_point when) {
  if (when >= tick_ || stopped_) return;
  tick_ = when;
  of_.at_local(when, [this, when] {
    if (tick_ != when || stopped_) return;
    tick_ = time_point::max();
    follow(renewal_.tick(of_.local()));
  });
}

}  // namespace holdfast::sim::redlock
