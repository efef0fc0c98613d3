#include "sim/redlock/roster.hpp"

#include "sim/redlock/client.hpp"
#include "sim/redlock/driver_rules.hpp"

#include <algorithm>

namespace holdfast::sim::redlock {

namespace rl = core::redlock;

namespace {

rl::admission::config config_of(const scenario& s, std::uint32_t session) {
  rl::admission::config c;
  c.nodes = static_cast<std::size_t>(s.nodes);
  c.tokens = s.tokens;
  c.max_ttl = s.ttl;
  c.timeout = s.node_timeout;
  c.config_hash = "list";
  c.seed = std::uint64_t{session} * 977 + 1;
  return c;
}

/// The program's second, for shorter ttls.
constexpr duration poll_pause = std::chrono::milliseconds{200};

rl::seal_reply reply_of(const node::answer& a) {
  using result = rl::seal_reply::result;
  if (a.refused == fault::none) return {result::sealed, a.number, 0};
  return {result::refused, 0, a.refused == fault::epoch_moved ? a.number : 0};
}

}  // namespace

roster::roster(client& of, notes_file& notes)
    : of_(of), admission_(config_of(of.of().setup, of.session()), notes.there), notes_(of, notes) {}

void roster::look(node_index i) { look(i, occasion::needed); }

void roster::look(node_index i, occasion why) {
  struct sight {
    rl::node_facts facts;
    server_time at;
  };
  const time_point sent = of_.local();
  world& w = of_.of();
  of_.ask(
      i, patience(),
      [&w](world::host& h) {
        h.server.load_scripts();
        const auto index = static_cast<node_index>(&h - &w.at(0));
        sight s{w.facts_of(index), w.wall_of(h)};
        s.facts.at = s.at;
        return s;
      },
      [this, i, sent, why](const sight* s, std::uint64_t connection) {
        if (of_.connection(i) != connection || !of_.up(i)) return;
        if (s == nullptr) return why == occasion::needed ? of_.disconnect(i) : void();
        rl::node_facts facts = s->facts;
        facts.asked = sent;
        serve(admission_.looked_at(i, facts, name_of_loss(i), of_.local()));
        told_time(i, s->at, sent);
      });
}

std::string roster::name_of_loss(node_index i) {
  const std::uint64_t fresh = of_.of().fresh();
  if (drivers.nonce_for_each_loss) return "n" + std::to_string(fresh);
  return "n" + std::to_string(of_.session()) + "." + std::to_string(i);
}

/// As the program does while nothing else brings the TIME of a node: it reads all clocks, and one
/// node whole.
void roster::poll() {
  of_.at_local(of_.local() + poll_pause, [this] {
    if (of_.of().closing()) return;
    for (node_index i = 0; i < of_.of().nodes(); ++i) read_clock(i);
    const node_index i = turn_;
    turn_ = (turn_ + 1) % static_cast<node_index>(of_.of().nodes());
    const bool votes = admission_.standing_of(i) == rl::admission::standing::admitted;
    if (votes) look(i, occasion::passing);
    poll();
  });
}

void roster::read_clock(node_index i) {
  struct sight {
    std::string nonce;
    std::uint64_t epoch{};
    server_time at;
  };
  world& w = of_.of();
  of_.ask(
      i, of_.ttl(),
      [&w](world::host& h) {
        const auto& record = h.server.record();
        return sight{record ? record->nonce : std::string(), record ? record->epoch : 0,
                     w.wall_of(h)};
      },
      [this, i, sent = of_.local()](const sight* s, std::uint64_t) {
        if (s == nullptr) return;
        if (s->nonce != ballot_of(i).nonce) return keepers().has(i) ? doubted(i) : void();
        told_time(i, s->at, sent);
        const bool waits = admission_.standing_of(i) == rl::admission::standing::waiting;
        const bool moved = intact().has(i) && admission_.facts_of(i).record->epoch != s->epoch;
        if ((waits && s->epoch > 0) || moved) look(i, occasion::passing);
      });
}

void roster::disconnected(node_index i) {
  opened_.remove(i);
  serve(admission_.disconnected(i, of_.local()));
}

void roster::doubted(node_index i) {
  opened_.remove(i);
  serve(admission_.doubted(i, of_.local()));
}

void roster::told_time(node_index i, server_time at, time_point sent) {
  serve(admission_.on_time(i, at, sent, of_.local()));
}

void roster::session_missing(node_index i) {
  opened_.remove(i);
  open_where_missing();
}

roster::node_set roster::intact() const noexcept {
  node_set s;
  for (node_index i = 0; i < of_.of().nodes(); ++i) {
    const auto is = admission_.standing_of(i);
    const bool votes = is == rl::admission::standing::admitted;
    if (votes || is == rl::admission::standing::lagging) s.add(i);
  }
  return s;
}

std::string roster::explain(node_index i) const { return admission_.explain(i, of_.local()); }

void roster::serve(const step& s) {
  for (const rl::write& w : s.writes) write(w);
  for (const rl::seal& x : s.seals) seal(x);
  rl::for_each(s.look, [&](node_index i) { look(i); });
  rl::for_each(s.reconnect, [&](node_index i) { of_.disconnect(i); });
  tick_at(s.wake);
  open_where_missing();
  notes_.keep(admission_.notes());
  judge();
}

void roster::kept(const rl::life_notes& asked, const rl::life_notes& there) {
  serve(admission_.kept(asked, there, of_.local()));
}

void roster::judge() {
  using standing = rl::admission::standing;
  for (node_index i = 0; i < of_.of().nodes(); ++i) {
    const standing is = admission_.standing_of(i);
    const auto& record = admission_.facts_of(i).record;
    const bool is_known = is != standing::away && is != standing::marking;
    if (is_known && record) of_.of().took_for_recorded(i, *record);
  }
}

void roster::write(const rl::write& w) {
  write(w, [this, w](rl::write_reply r) { serve(admission_.written(w, r, of_.local())); });
}

void roster::write(const rl::write& w, std::function<void(rl::write_reply)> done) {
  world& of = of_.of();
  of_.ask(
      w.node, patience(),
      [w, &of, sent = of.time.now()](world::host& h) {
        if (world::is_excluded(h, w)) return node::answer{.refused = fault::busy_script};
        const auto before = h.server.record();
        const node::answer a = h.server.write(w);
        if (a.number == 1) of.wrote(h, before, sent);
        return a;
      },
      [this, i = w.node, done = std::move(done)](const node::answer* a, std::uint64_t connection) {
        if (of_.connection(i) != connection) return;
        const bool failed = a == nullptr || a->refused != fault::none;
        const auto r = failed           ? rl::write_reply::failed
                       : a->number == 1 ? rl::write_reply::written
                                        : rl::write_reply::changed;
        done(r);
      });
}

/// What a node is asked outside an attempt: shorter than in the program where that shows no less.
duration roster::patience() const noexcept {
  const scenario& s = of_.of().setup;
  return s.far > 0 ? rl::seal_limit(s.node_timeout) : s.node_timeout;
}

void roster::seal(const rl::seal& s) {
  of_.ask(
      s.node, rl::seal_limit(of_.of().setup.node_timeout),
      [s, &w = of_.of()](world::host& h) {
        h.server.load_scripts();
        w.sealing(h);
        const node::answer a = h.server.seal(s.nonce, s.epoch);
        world::note_record(h);
        return a;
      },
      [this, s](const node::answer* a, std::uint64_t) {
        serve(admission_.sealed(s, a == nullptr ? rl::seal_reply{} : reply_of(*a), of_.local()));
      });
}

void roster::open_where_missing() {
  if (!of_.of().setup.tokens || of_.ttl() <= duration::zero() || of_.held().is_over()) return;
  rl::for_each(voters() - opened_, [&](node_index i) {
    opened_.add(i);
    of_.ask(
        i, of_.of().setup.node_timeout,
        [session = of_.session(), ttl = in_ms(of_.ttl()),
         nonce = ballot_of(i).nonce](world::host& h) {
          h.server.load_scripts();
          return h.server.open(session, ttl, nonce);
        },
        [](const node::answer*, std::uint64_t) {});
  });
}

void roster::tick_at(time_point when) {
  if (when >= tick_) return;
  tick_ = when;
  of_.at_local(when, [this, when] {
    if (tick_ != when) return;
    tick_ = time_point::max();
    serve(admission_.tick(of_.local()));
  });
}

}  // namespace holdfast::sim::redlock
