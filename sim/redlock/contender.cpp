#include "sim/redlock/contender.hpp"

#include "sim/redlock/client.hpp"
#include "sim/redlock/driver_rules.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sim::redlock {

namespace rl = core::redlock;

namespace {

rl::node_vote vote_of(const node::answer& a) {
  if (a.refused == fault::epoch_moved) return rl::node_vote::of(a.refused, a.number);
  if (a.refused != fault::none) return rl::node_vote::of(a.refused);
  if (a.number > 0) return rl::node_vote::granted(a.number);
  return rl::node_vote::taken(a.left);
}

}  // namespace

struct contender::releasing {
  rl::owed_release machine;
  std::uint64_t value;
  std::uint64_t number;
  time_point tick{time_point::max()};
  node_set unloaded{};  ///< They get the script together with what they are sent next.
};

void contender::again(duration rest) {
  const std::uint64_t turn = ++turn_;
  wake_ = time_point::max();
  if (stopped_) return;
  of_.post(of_.of().time.now() + rest, [this, turn] {
    if (turn_ == turn) begin();
  });
}

void contender::stop() {
  stopped_ = true;
  if (held_) return give_up();
  if (round_ && !round_->decided()) follow(round_->cancel());
}

void contender::begin() {
  if (stopped_) return;
  world& w = of_.of();
  number_ = w.fresh();
  if (drivers.fresh_value || value_ == 0) value_ = number_;
  began_ = w.judge.begin(lock_);
  settled_ = twice_ = there_ = {};
  ballots_ = now_voting();
  if (w.healed() || !w.dice.chance(w.setup.stale)) return ask_all();
  // A thread may stand still here while others go on, and connections are replaced.
  const duration late = w.dice.between(duration{}, w.setup.ttl);
  of_.post(w.time.now() + late, [this, turn = turn_] {
    if (turn_ == turn && !stopped_) ask_all();
  });
}

contender::ballots contender::now_voting() const {
  ballots b;
  b.voters = of_.nodes().voters();
  rl::for_each(b.voters, [&](node_index i) {
    b.with[i] = of_.nodes().ballot_of(i);
    b.connections[i] = of_.connection(i);
  });
  return b;
}

void contender::ask_all() {
  if (of_.held().is_over()) return;
  const scenario& s = of_.of().setup;
  last_sent_ = of_.local();
  const bool overlong = !of_.of().healed() && of_.of().dice.chance(s.overlong);
  ttl_ = overlong ? 4 * of_.ttl() : of_.ttl();
  if (!of_.of().healed() && of_.of().dice.chance(s.splits)) split();
  round_.emplace(rl::attempt::config{of_.of().nodes(), ttl_, s.node_timeout, s.tokens},
                 ballots_.voters, last_sent_);
  rl::for_each(ballots_.voters, [&](node_index i) { send_acquire(i); });
  follow(round_->start(of_.local()));
}

void contender::split() {
  world& w = of_.of();
  const auto n = static_cast<node_index>(w.nodes());
  const auto most = static_cast<node_index>(rl::majority(n));
  const auto first = static_cast<node_index>(w.dice.index(n));
  const moment late =
      w.time.now() +
      w.dice.between(w.setup.node_timeout / 8, w.setup.node_timeout - w.setup.node_timeout / 8);
  for (node_index i = 1; i < n; ++i) {
    of_.cut_off((first + i) % n, i < most ? late : w.time.now() + 2 * w.setup.ttl);
  }
}

void contender::send_acquire(node_index i) {
  carried_[i] = of_.connection(i);
  round_->carried(i, ballots_.connections[i], carried_[i]);
  world& w = of_.of();
  node::acquisition a;
  a.lock = lock_;
  a.session = of_.session();
  a.value = value_;
  a.ttl = in_ms(ttl_);
  a.with = ballots_.with[i];
  of_.ask(
      i, of_.ttl(),
      [this, a, &w, number = number_, over = of_.local() + ttl_](world::host& h) {
        if (w.dice.chance(w.setup.forget)) h.server.forget_counter(a.lock);
        const node::answer given =
            w.setup.tokens ? h.server.acquire(a) : h.server.acquire_plain(a.lock, a.value, a.ttl);
        if (given.refused != fault::none || given.number == 0) return given;
        if (of_.local() < over) w.judge.sets(number);
        w.granted_by(h);
        return given;
      },
      [this, i, turn = turn_, sent = of_.local()](const node::answer* r, std::uint64_t) {
        const bool tells = r != nullptr && r->time > server_time::zero();
        if (tells && drivers.time_of_answers) of_.nodes().told_time(i, r->time, sent);
        if (turn_ == turn) acquired(i, r);
      });
}

void contender::acquired(node_index i, const node::answer* a) {
  rl::node_vote v = rl::node_vote::of(fault::silent);
  if (a != nullptr) {
    settled_.add(i);
    v = vote_of(*a);
    // A plain SET brings no TIME with which the node could be found out.
    const bool votes = !of_.of().setup.tokens || of_.nodes().voters().has(i);
    if (v.what == rl::vote::granted && !votes) v = rl::node_vote::of(fault::not_admitted);
    v = round_->counted(i, v);
    if (v.why == fault::session_missing) of_.nodes().session_missing(i);
    const bool doubt = v.why != fault::none && rl::action_on(v.why).look_again;
    if (doubt && of_.nodes().keepers().has(i)) of_.nodes().doubted(i);
  }
  if (v.what == rl::vote::granted) heard(i, true);
  follow(round_->answered(i, v, of_.local()));
  if (held_ && v.what == rl::vote::granted) of_.held().granted_late(*held_, i);
}

contender::step contender::raise(node_index i, token to) {
  of_.ask(
      i, of_.ttl(),
      [with = ballots_.with[i], to, lock = lock_, value = value_](world::host& h) {
        return h.server.raise(lock, value, to.value, with);
      },
      [this, i, to, turn = turn_](const node::answer* a, std::uint64_t) {
        if (turn_ != turn) return;
        const auto v = a == nullptr ? rl::node_vote::of(fault::silent) : vote_of(*a);
        follow(round_->raised(i, to, v, of_.local()));
      });
  return round_->raise_carried(i, to, of_.connection(i), of_.local());
}

void contender::raise_later(node_index i, token to) {
  world& w = of_.of();
  of_.post(w.time.now() + w.dice.between(duration{}, w.setup.node_timeout),
           [this, i, to, turn = turn_] {
             if (turn_ == turn && !round_->decided()) follow(raise(i, to));
           });
}

void contender::follow(step s) {
  world& w = of_.of();
  while (!s.decided && !s.raise.empty()) {
    const token to = round_->chosen();
    rl::for_each(std::exchange(s.raise, {}), [&](node_index i) {
      if (!w.healed() && w.dice.chance(w.setup.late_raises)) return raise_later(i, to);
      s.add(raise(i, to));
    });
  }
  if (s.decided) {
    pause_.measured(of_.local() - round_->sent());
    if (round_->current() == rl::attempt::state::held) return hold();
    release(s.release);
    return again(pause_.next(of_.of().dice.next(), round_->holder_left()));
  }
  wake_at(s.wake);
}

void contender::wake_at(time_point when) {
  if (when == time_point::max() || when == wake_) return;
  wake_ = when;
  of_.at_local(when, [this, turn = turn_] {
    if (turn_ == turn && !round_->decided()) follow(round_->tick(of_.local()));
  });
}

void contender::hold() {
  world& w = of_.of();
  pause_.reset();
  own_.emplace(round_->until());
  held_ = of_.held().add(*this);
  granted_at_ = w.time.now();
  seen_over_ = false;
  granted_healed_ = w.healed();
  w.events.note(w.time.now(), "granted", of_.place(), lock_,
                static_cast<std::int64_t>(round_->chosen().value));
  w.judge_grant(*this);
  // In the end everybody has a turn within a bound only if nobody keeps a lock for long.
  const duration most = w.healed() ? w.setup.hold_least : w.setup.hold_most;
  of_.post(w.time.now() + w.dice.between(w.setup.hold_least, most), [this, turn = turn_] {
    if (turn_ == turn && held_) give_up();
  });
}

void contender::give_up() {
  if (drivers.stop_before_release) return end();
  release(node_set::all(of_.of().nodes()));
  of_.post(of_.of().time.now() + of_.of().setup.node_timeout, [this, turn = turn_] {
    if (turn_ == turn && held_) end();
  });
}

void contender::end() {
  of_.held().remove(*held_);
  lost();
}

void contender::lost() {
  own_->lose();
  held_.reset();
  of_.of().events.note(of_.of().time.now(), "ended", of_.place(), lock_);
  release(node_set::all(of_.of().nodes()));
  const duration rest = of_.of().setup.rest_most;
  again(of_.of().dice.between(duration{1}, of_.of().healed() ? 10 * rest : rest));
}

void contender::heard(node_index i, bool there) {
  there_.remove(i);
  if (there) there_.add(i);
}

void contender::sent_again() { last_sent_ = of_.local(); }

void contender::repair_sent(node_index i) {
  if (!settled_.has(i) && carried_[i] != of_.connection(i)) {
    twice_.add(i);
    late_until_ = last_sent_ + ttl_;
  }
  settled_.remove(i);
  carried_[i] = of_.connection(i);
  sent_again();
}

bool contender::valid() const { return held_ && !own_->is_lost() && of_.local() < own_->until(); }

void contender::note_time() {
  if (held_ && of_.local() >= own_->until()) seen_over_ = true;
}

oracle::holder contender::as_holder() const {
  return {of_.place(), of_.session(), lock_,     round_->chosen().value, began_.at, granted_at_,
          ttl_,        there_.size(), seen_over_};
}

void contender::release(node_set to) {
  const scenario& s = of_.of().setup;
  rl::owed_release::config c{ttl_, s.node_timeout, of_.of().fresh()};
  auto r =
      std::make_shared<releasing>(releasing{rl::owed_release(c, to, last_sent_), value_, number_});
  node_set up;
  rl::for_each(to, [&](node_index i) {
    r->machine.trace_of(
        i, {carried_[i], settled_.has(i), twice_.has(i) ? late_until_ : time_point::min()});
    if (of_.up(i)) up.add(i);
  });
  releasing_.push_back(r);
  follow(r, r->machine.start(up, of_.local()));
}

void contender::connected(node_index i) {
  const auto all = releasing_;
  for (const auto& r : all) follow(r, r->machine.connected(i, of_.local()));
}

void contender::disconnected(node_index i) {
  const auto all = releasing_;
  for (const auto& r : all) follow(r, r->machine.disconnected(i, of_.local()));
}

void contender::follow(const std::shared_ptr<releasing>& r, const rl::owed_release::step& s) {
  if (s.finished) {
    // A proxy may carry what is behind an acquire to another node.
    const bool is_over = r->machine.result() == rl::owed_release::outcome::released;
    if (is_over && of_.of().setup.misroutes == duration{}) of_.of().judge.released(r->number);
    std::erase(releasing_, r);
  }
  rl::for_each(s.send, [&](node_index i) {
    of_.ask(
        i, of_.of().setup.node_timeout,
        [lock = lock_, value = r->value, loads = r->unloaded.has(i)](world::host& h) {
          if (loads) h.server.load_scripts();
          return h.server.release(lock, value);
        },
        [this, r, i](const node::answer* a, std::uint64_t connection) {
          const time_point now = of_.local();
          if (a == nullptr) return follow(r, r->machine.failed(i, now));
          if (a->refused == fault::script_missing) {
            r->unloaded.add(i);
            return follow(r, r->machine.refused(i, now));
          }
          follow(r, r->machine.answered(i, a->number > 0, connection, now));
        });
  });
  if (s.wake >= r->tick) return;
  r->tick = s.wake;
  of_.at_local(s.wake, [this, r, when = s.wake] {
    if (r->tick != when) return;
    r->tick = time_point::max();
    follow(r, r->machine.tick(of_.local()));
  });
}

}  // namespace holdfast::sim::redlock
