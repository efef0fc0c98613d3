#include "engines/redlock/cluster.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/inspection.hpp"
#include "engines/redlock/replies.hpp"
#include "wire/server_error.hpp"

#include <utility>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::redlock::admission;
using core::redlock::seal;
using core::redlock::seal_reply;
using core::redlock::write;
using core::redlock::write_reply;

/// How often the clocks of the nodes are read while nothing else brings their TIME.
constexpr duration clock_poll = 1s;

}  // namespace

void cluster::load_scripts(node_index i) {
  for (const script* s : scripts::all) {
    std::string bytes;
    commands::load(bytes, *s);
    // One that is missing is found by NOSCRIPT.
    put(
        i, bytes, clock::now() + inquiry_limit,
        [self = weak_from_this(), i, s](const io::redis_answer& a) {
          if (const auto c = self.lock()) c->script_loaded(i, *s, a);
        },
        kind::upkeep);
  }
}

/// What is refused may work all the same, until the scripts that somebody else loaded are gone.
void cluster::script_loaded(node_index i, const script& s, const io::redis_answer& a) {
  member& m = *members_[i];
  if (&s == scripts::all.back()) m.loading = false;
  const fault why = a.reply == nullptr ? fault::silent : replies::load(*a.reply, s);
  const bool refused = replies::text_says_more(why);
  if (why != fault::none && !refused) return;
  const io::held_mutex hold(mutex_);
  m.refused.load = refused ? "it refuses SCRIPT LOAD: " + replies::error_text(*a.reply) : "";
}

/// A thousand answers may ask for them at once: they are sent once.
void cluster::load_again(node_index i) {
  if (!members_[i]->loading.exchange(true)) load_scripts(i);
}

void cluster::inspect(node_index i, occasion why) {
  // Each time: one that loads its data refuses the scripts, too.
  if (why == occasion::needed) load_scripts(i);
  std::make_shared<inspection>(*this, i, why)->ask_info(*this);
}

/// Every node is read once a clock_poll, so that a step of its clock is found soon also when no
/// script brings its TIME; a lock with a shorter ttl may be over by then.
void cluster::poll_clocks() {
  loop_->at(clock::now() + clock_poll, [self = weak_from_this()] {
    const auto c = self.lock();
    if (!c) return;
    for (node_index i = 0; i < c->size(); ++i) {
      if (c->is_connected(i)) c->ask_time(i);
    }
    c->inspect_next();
    c->poll_clocks();
  });
}

/// A proxy may lead a connection to another server while it lasts: whose clock it is only the
/// record tells, where there is one that may be read.
void cluster::ask_time(node_index i) {
  bool whole = settings_.tokens;
  {
    const io::held_mutex hold(mutex_);
    whole = whole && members_[i]->refused.look.empty();
  }
  std::string bytes;
  if (whole) {
    commands::look(bytes);
  } else {
    commands::time(bytes);
  }
  const time_point sent = clock::now();
  ask(
      i, bytes, sent + inquiry_limit,
      [self = weak_from_this(), i, sent, whole](const io::redis_answer& a) {
        const auto c = self.lock();
        if (!c || a.reply == nullptr) return;
        if (!whole) {
          const auto at = replies::time(*a.reply);
          if (at) c->on_time(i, *at, sent, a.at);
          return;
        }
        const auto read = replies::look(*a.reply);
        if (!read) return;
        const bool same = read->record && read->record->nonce == c->now_voting()->nonces[i];
        if (!same) return c->on_other_life(i);
        c->on_time(i, read->time, sent, a.at);
        c->on_epoch(i, read->record->epoch);
      },
      kind::upkeep);
}

/// Another client moved the epoch, on all nodes at about the same time. Or it brought this node
/// back, whose loss it saw earlier and so has waited for long enough: it votes for whoever connects
/// now, and for this one as well. They are read in passing: who is put out until it answers does
/// not vote, and then none would.
void cluster::on_epoch(node_index i, std::uint64_t epoch) {
  {
    const io::held_mutex hold(mutex_);
    const auto is = admission_.standing_of(i);
    const bool is_back = is == admission::standing::waiting && epoch > 0;
    const bool counts = is == admission::standing::admitted || is == admission::standing::lagging;
    if (!is_back && !(counts && admission_.facts_of(i).record->epoch != epoch)) return;
  }
  inspect(i, occasion::passing);
}

/// An answer under another nonce than this client knows, or under none. Of a node that waits there
/// is no vote to doubt: another client named another loss there, or `recover` wrote, and what is
/// there now need not wait for what was. It is looked at at most once a poll, as all others are.
void cluster::on_other_life(node_index i) {
  bool waits{};
  {
    const io::held_mutex hold(mutex_);
    waits = admission_.standing_of(i) == admission::standing::waiting;
  }
  waits ? inspect(i, occasion::passing) : doubted(i);
}

/// In turn, with each poll one: a node that votes may have been a replica for a moment, or sync its
/// writes no longer.
void cluster::inspect_next() {
  const node_index i = turn_;
  turn_ = (turn_ + 1) % static_cast<node_index>(size());
  {
    const io::held_mutex hold(mutex_);
    if (admission_.standing_of(i) != admission::standing::admitted) return;
  }
  if (is_connected(i)) inspect(i, occasion::passing);
}

/// The server closes the connection behind its answer, and then the name is looked up anew.
void cluster::reconnect(node_index i) {
  std::string bytes;
  commands::quit(bytes);
  put(
      i, bytes, clock::now() + inquiry_limit, [](const io::redis_answer&) {}, kind::upkeep);
}

void cluster::send_seal(const seal& what) {
  std::string bytes;
  commands::seal(bytes, what);
  const duration timeout = settings_.timeout_for(settings_.max_ttl);
  ask(
      what.node, bytes, clock::now() + core::redlock::seal_limit(timeout),
      [self = weak_from_this(), what](const io::redis_answer& a) {
        const auto c = self.lock();
        if (!c) return;
        const seal_reply r = a.reply == nullptr ? seal_reply{} : replies::seal(*a.reply);
        c->loop_->post([c, what, r] {
          c->advance([&](admission& x) { return x.sealed(what, r, clock::now()); });
        });
      },
      kind::upkeep);
}

void cluster::send_write(const write& what) {
  write_record(what, [self = weak_from_this(), what](write_reply r, const std::string&) {
    const auto c = self.lock();
    if (c) c->advance([&](admission& x) { return x.written(what, r, clock::now()); });
  });
}

void cluster::heed(node_index i, duty what, fault why, const wire::reply* r) {
  member& m = *members_[i];
  const auto of = static_cast<std::size_t>(what);
  if (why == fault::none && !m.refuses[of].load(std::memory_order_relaxed)) return;
  const bool says_more = r != nullptr && replies::text_says_more(why);
  std::string text;
  if (why != fault::none) {
    text = addresses_[i] + (says_more ? " said: " + replies::error_text(*r)
                                      : std::string(" ") + core::redlock::action_on(why).text);
  }
  const io::held_mutex hold(mutex_);
  m.refuses[of] = !text.empty();
  m.refused.heeded[of] = std::move(text);
}

/// Until the next look: whoever asks why the node does not vote hears what it refused.
void cluster::heed_write(node_index i, const io::redis_answer& a) {
  if (a.reply == nullptr || !a.reply->is(wire::reply_kind::error)) return;
  const io::held_mutex hold(mutex_);
  if (admission_.voters().has(i)) return;
  const std::string why = replies::error_text(*a.reply);
  members_[i]->refused.unreadable = addresses_[i] + ": its record cannot be written: " + why;
  members_[i]->refused.barred = wire::server_error_of(why) == wire::server_error::noperm;
}

void cluster::write_record(const write& what,
                           std::function<void(write_reply, const std::string&)> then) {
  // Connections are replaced on the loop's thread: there the comparison holds until it is sent.
  loop_->post([self = weak_from_this(), what, then = std::move(then)] {
    const auto c = self.lock();
    if (!c) return;
    std::uint64_t facts_of{};
    {
      const io::held_mutex hold(c->mutex_);
      facts_of = c->members_[what.node]->facts_of;
    }
    if (facts_of != c->connection_of(what.node)) {
      return then(write_reply::changed, "its connection was replaced");
    }
    std::string bytes;
    commands::write(bytes, what);
    c->ask(
        what.node, bytes, clock::now() + inquiry_limit,
        [self, i = what.node, then](const io::redis_answer& a) {
          if (const auto d = self.lock()) d->heed_write(i, a);
          if (a.reply == nullptr) return then(write_reply::failed, a.why->message());
          const bool refused = a.reply->is(wire::reply_kind::error);
          then(replies::write(*a.reply), refused ? replies::error_text(*a.reply) : "");
        },
        kind::upkeep);
  });
}

cluster::node_view cluster::view_of(node_index i) const {
  const auto trouble = members_[i]->connection->trouble();
  const io::held_mutex hold(mutex_);
  node_view p;
  p.standing = admission_.standing_of(i);
  p.explanation = admission_.explain(i, clock::now());
  p.server = members_[i]->server;
  p.judged = members_[i]->judged;
  p.facts = admission_.facts_of(i);
  p.trouble = trouble ? trouble->message() : members_[i]->refused.unreadable;
  p.refused = members_[i]->refused;
  return p;
}

}  // namespace holdfast::engines::redlock
