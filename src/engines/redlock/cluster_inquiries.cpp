#include "engines/redlock/cluster.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/replies.hpp"
#include "io/redis/redis_facts.hpp"
#include "io/redis/redis_reload.hpp"
#include "io/thread/random.hpp"
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

constexpr duration reload_pause = 100ms;
/// How often the clocks of the nodes are read while nothing else brings their TIME.
constexpr duration clock_poll = 1s;
/// Locks may have any name, and so may keys that are written.
constexpr std::string_view any_lock = "any lock";

}  // namespace

core::redlock::node_facts facts_of(const io::redis_facts& server) {
  core::redlock::node_facts f;
  f.run_id = io::life_of(server);
  // A sentinel has no role, and is known by its mode.
  f.master = server.role == "master" || server.mode == "sentinel";
  f.standalone = server.mode == "standalone";
  return f;
}

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
        kind::command);
  }
}

/// What is refused may work all the same, until the scripts that somebody else loaded are gone.
void cluster::script_loaded(node_index i, const script& s, const io::redis_answer& a) {
  member& m = *members_[i];
  if (&s == scripts::all.back()) m.loading = false;
  const fault why = a.reply == nullptr ? fault::silent : replies::load(*a.reply, s);
  const bool refused = replies::text_says_more(why);
  if (why != fault::none && !refused) return;
  const std::lock_guard hold(mutex_);
  m.refused.load = refused ? "it refuses SCRIPT LOAD: " + replies::error_text(*a.reply) : "";
}

/// A thousand answers may ask for them at once: they are sent once.
void cluster::load_again(node_index i) {
  if (!members_[i]->loading.exchange(true)) load_scripts(i);
}

void cluster::look(node_index i) {
  // Each time: one that loads its data refuses the scripts, too.
  load_scripts(i);
  read_again(i, occasion::needed);
}

/// What it said of itself when it was connected to may be over: it may have been a replica since.
void cluster::read_again(node_index i, occasion why) {
  const std::uint64_t connection = connection_of(i);
  std::string bytes;
  commands::info(bytes);
  ask(i, bytes, clock::now() + inquiry_limit,
      [self = weak_from_this(), i, connection, why](const io::redis_answer& a) {
        const auto c = self.lock();
        if (!c || connection == no_connection || connection != c->connection_of(i)) return;
        if (a.reply == nullptr && why == occasion::passing) return;
        {
          const std::lock_guard hold(c->mutex_);
          member& m = *c->members_[i];
          m.informed = a.reply != nullptr && a.reply->is(wire::reply_kind::text);
          if (m.informed) io::take_info(*m.server, *a.reply);
        }
        c->examine(i, why);
      });
}

void cluster::examine(node_index i, occasion why) {
  const std::uint64_t connection = connection_of(i);
  std::string bytes;
  commands::persistence(bytes);
  ask(i, bytes, clock::now() + inquiry_limit,
      [self = weak_from_this(), i, connection, why](const io::redis_answer& a) {
        const auto c = self.lock();
        if (!c || (a.reply == nullptr && why == occasion::passing)) return;
        // Silence is not the answer that it syncs nothing.
        if (a.reply == nullptr) return c->looked(i, connection, syncing::no, a, a.at, why);
        c->rehearse(i, connection, c->told_config(i, *a.reply), why);
      });
}

/// What is synced has to be read back, too.
void cluster::rehearse(node_index i, std::uint64_t connection, syncing how, occasion why) {
  const auto reload = std::make_shared<io::redis_reload>();
  std::vector<std::string> questions;
  {
    const std::lock_guard hold(mutex_);
    member& m = *members_[i];
    if (how != syncing::no && io::redis_reload::is_in_doubt(*m.server)) {
      questions = io::redis_reload::questions(any_lock);
    } else {
      m.refused.reload.clear();
    }
  }
  if (questions.empty()) return look_now(i, connection, how, why);
  const auto left = std::make_shared<std::size_t>(questions.size());
  for (const std::string& question : questions) {
    ask(i, question, clock::now() + inquiry_limit,
        [self = weak_from_this(), i, connection, how, why, reload,
         left](const io::redis_answer& a) {
          const auto c = self.lock();
          if (!c || *left == 0) return;
          if (a.reply == nullptr) {
            // The first silence is the end of it, whatever comes behind.
            *left = 0;
            if (why == occasion::needed) c->looked(i, connection, syncing::no, a, a.at, why);
            return;
          }
          reload->told(*a.reply);
          if (--*left > 0) return;
          const bool reads_back = reload->objection().empty();
          {
            const std::lock_guard hold(c->mutex_);
            c->members_[i]->refused.reload = reload->objection();
          }
          c->look_now(i, connection, reads_back ? how : syncing::no, why);
        });
  }
}

void cluster::look_now(node_index i, std::uint64_t connection, syncing how, occasion why) {
  std::string bytes;
  // Without records a user needs no right to any key but the locks.
  if (settings_.tokens) {
    commands::look(bytes);
  } else {
    commands::time(bytes);
  }
  const time_point sent = clock::now();
  ask(i, bytes, sent + inquiry_limit,
      [self = weak_from_this(), i, connection, how, sent, why](const io::redis_answer& a) {
        if (a.reply == nullptr && why == occasion::passing) return;
        if (const auto c = self.lock()) c->looked(i, connection, how, a, sent, why);
      });
}

cluster::syncing cluster::told_config(node_index i, const wire::reply& config) {
  const std::lock_guard hold(mutex_);
  const auto& server = members_[i]->server;
  const bool refused = config.is(wire::reply_kind::error);
  members_[i]->refused.config = refused ? wire::printable(config.text) : "";
  if (!server) return syncing::no;
  if (io::keeps_every_write(*server, config)) return syncing::always;
  return io::keeps_every_write_but_rewrites(*server, config) ? syncing::rewriting : syncing::no;
}

void cluster::looked(node_index i, std::uint64_t connection, syncing how, const io::redis_answer& a,
                     time_point sent, occasion why) {
  member& m = *members_[i];
  if (connection == no_connection || connection != m.number.load() || !m.connection->is_up())
    return;
  const reading<node_reading> read = look_in(a);
  const bool refused = !read && read.why() == fault::permission && why == occasion::passing;
  if (refused && may_vote_unseen(i, how)) {
    const std::lock_guard hold(mutex_);
    m.refused.look =
        addresses_[i] + ": its state cannot be read any more: " + replies::error_text(*a.reply);
    return;
  }
  if (!read) return looked_in_vain(i, connection, a, read.why());
  core::redlock::node_facts f;
  {
    const std::lock_guard hold(mutex_);
    f = facts_of(*m.server);
    m.facts_of = connection;
    m.judged = true;
    m.refused.unreadable.clear();
    m.refused.look.clear();
  }
  f.address = addresses_[i];
  f.durable = how == syncing::always;
  f.rewriting = how == syncing::rewriting;
  if (settings_.tokens) f.record = read->record;
  f.at = read->time;
  f.asked = sent;
  const std::string fresh = io::random_session_id().str();
  advance([&](admission& x) { return x.looked_at(i, f, fresh, a.at); });
  advance([&](admission& x) { return x.told_time(i, read->time, sent, a.at); });
}

/// Whether a voter whose record may no longer be read is what it was when it was: the same life of
/// the same data, as durable as its record says. Whatever else changes there, the scripts compare.
bool cluster::may_vote_unseen(node_index i, syncing how) const {
  const std::lock_guard hold(mutex_);
  const member& m = *members_[i];
  if (!m.informed || !admission_.voters().has(i)) return false;
  const auto is = facts_of(*m.server);
  const auto& was = admission_.facts_of(i);
  const bool durable = how == syncing::rewriting ? was.durable : how == syncing::always;
  const bool recorded = !was.record || was.record->durable == durable;
  return is.master && is.standalone && is.run_id == was.run_id && durable == was.durable &&
         recorded;
}

reading<node_reading> cluster::look_in(const io::redis_answer& a) const {
  if (a.reply == nullptr) return fault::silent;
  if (settings_.tokens) return replies::look(*a.reply);
  const auto at = replies::time(*a.reply);
  if (!at) return at.why();
  return node_reading{.time = *at, .record = std::nullopt};
}

/// A node whose record cannot be read does not vote; it is asked again while it is connected.
void cluster::looked_in_vain(node_index i, std::uint64_t connection, const io::redis_answer& a,
                             fault why) {
  member& m = *members_[i];
  const bool refused = a.reply != nullptr && a.reply->is(wire::reply_kind::error);
  core::redlock::node_facts f;
  bool unfit{};
  {
    const std::lock_guard hold(mutex_);
    f = facts_of(*m.server);
    // These answer no script that has keys, and are told by what they said of themselves.
    unfit = !f.master || !f.standalone;
    m.judged = true;
    m.refused.unreadable.clear();
    m.refused.look.clear();
    if (!unfit) {
      const bool not_loaded = why == fault::script_missing && !m.refused.load.empty();
      m.refused.unreadable = addresses_[i] + ": its state cannot be read: " +
                             (not_loaded ? m.refused.load
                              : refused  ? replies::error_text(*a.reply)
                                         : core::redlock::action_on(why).text);
    }
  }
  f.address = addresses_[i];
  // Two states that pass by themselves, and soon.
  const bool soon = why == fault::loading || why == fault::script_missing;
  // Behind another connection it is looked at anew.
  loop_->at(clock::now() + (soon ? reload_pause : inquiry_limit),
            [self = weak_from_this(), i, connection] {
              if (const auto c = self.lock(); c && c->connection_of(i) == connection) c->look(i);
            });
  advance([&](admission& x) {
    return unfit ? x.looked_at(i, f, {}, a.at) : x.disconnected(i, clock::now());
  });
}

/// Every node is read once a clock_poll, so that a step of its clock is found soon also when no
/// script brings its TIME; a lock with a shorter ttl may be over by then.
void cluster::poll_clocks() {
  loop_->at(clock::now() + clock_poll, [self = weak_from_this()] {
    const auto c = self.lock();
    if (!c) return;
    for (node_index i = 0; i < c->size(); ++i) {
      if (c->is_connected(i)) c->read_clock(i);
    }
    c->read_one_again();
    c->poll_clocks();
  });
}

/// A proxy may lead a connection to another server while it lasts: whose clock it is only the
/// record tells, where there is one that may be read.
void cluster::read_clock(node_index i) {
  bool whole = settings_.tokens;
  {
    const std::lock_guard hold(mutex_);
    whole = whole && members_[i]->refused.look.empty();
  }
  std::string bytes;
  if (whole) {
    commands::look(bytes);
  } else {
    commands::time(bytes);
  }
  const time_point sent = clock::now();
  ask(i, bytes, sent + inquiry_limit,
      [self = weak_from_this(), i, sent, whole](const io::redis_answer& a) {
        const auto c = self.lock();
        if (!c || a.reply == nullptr) return;
        if (!whole) {
          const auto at = replies::time(*a.reply);
          if (at) c->told_time(i, *at, sent, a.at);
          return;
        }
        const auto read = replies::look(*a.reply);
        if (!read) return;
        const bool same = read->record && read->record->nonce == c->now_voting()->nonces[i];
        if (!same) return c->doubted(i);
        c->told_time(i, read->time, sent, a.at);
        c->told_epoch(i, read->record->epoch);
      });
}

/// Another client moved the epoch, on all nodes at about the same time. Or it brought this node
/// back, whose loss it saw earlier and so has waited for long enough: it votes for whoever connects
/// now, and for this one as well. They are read in passing: who is put out until it answers does
/// not vote, and then none would.
void cluster::told_epoch(node_index i, std::uint64_t epoch) {
  {
    const std::lock_guard hold(mutex_);
    const auto is = admission_.standing_of(i);
    const bool is_back = is == admission::standing::waiting && epoch > 0;
    const bool counts = is == admission::standing::admitted || is == admission::standing::lagging;
    if (!is_back && !(counts && admission_.facts_of(i).record->epoch != epoch)) return;
  }
  read_again(i, occasion::passing);
}

/// In turn, with each poll one: a node that votes may have been a replica for a moment, or sync its
/// writes no longer.
void cluster::read_one_again() {
  const node_index i = turn_;
  turn_ = (turn_ + 1) % static_cast<node_index>(size());
  {
    const std::lock_guard hold(mutex_);
    if (admission_.standing_of(i) != admission::standing::admitted) return;
  }
  if (is_connected(i)) read_again(i, occasion::passing);
}

/// The server closes the connection behind its answer, and then the name is looked up anew.
void cluster::reconnect(node_index i) {
  std::string bytes;
  commands::quit(bytes);
  put(
      i, bytes, clock::now() + inquiry_limit, [](const io::redis_answer&) {}, kind::command);
}

void cluster::send_seal(const seal& what) {
  std::string bytes;
  commands::seal(bytes, what);
  const duration timeout = settings_.timeout_for(settings_.max_ttl);
  ask(what.node, bytes, clock::now() + core::redlock::seal_limit(timeout),
      [self = weak_from_this(), what](const io::redis_answer& a) {
        const auto c = self.lock();
        if (!c) return;
        const seal_reply r = a.reply == nullptr ? seal_reply{} : replies::seal(*a.reply);
        c->loop_->post([c, what, r] {
          c->advance([&](admission& x) { return x.sealed(what, r, clock::now()); });
        });
      });
}

void cluster::send_write(const write& what) {
  write_record(what, [self = weak_from_this(), what](write_reply r, const std::string&) {
    const auto c = self.lock();
    if (c) c->advance([&](admission& x) { return x.written(what, r, clock::now()); });
  });
}

void cluster::heed(node_index i, fault why, const wire::reply* r) {
  member& m = *members_[i];
  if (why == fault::none && !m.refuses.load(std::memory_order_relaxed)) return;
  const bool says_more = r != nullptr && replies::text_says_more(why);
  std::string text;
  if (why != fault::none) {
    text = addresses_[i] + (says_more ? " said: " + replies::error_text(*r)
                                      : std::string(" ") + core::redlock::action_on(why).text);
  }
  const std::lock_guard hold(mutex_);
  m.refuses = !text.empty();
  m.refused.heeded = std::move(text);
}

/// Until the next look: who asks why the node does not vote is told what it refused.
void cluster::heed_write(node_index i, const io::redis_answer& a) {
  if (a.reply == nullptr || !a.reply->is(wire::reply_kind::error)) return;
  const std::lock_guard hold(mutex_);
  if (admission_.voters().has(i)) return;
  members_[i]->refused.unreadable =
      addresses_[i] + ": its record cannot be written: " + replies::error_text(*a.reply);
}

void cluster::write_record(const write& what,
                           std::function<void(write_reply, const std::string&)> then) {
  // Connections are replaced on the loop's thread: there the comparison holds until it is sent.
  loop_->post([self = weak_from_this(), what, then = std::move(then)] {
    const auto c = self.lock();
    if (!c) return;
    std::uint64_t facts_of{};
    {
      const std::lock_guard hold(c->mutex_);
      facts_of = c->members_[what.node]->facts_of;
    }
    if (facts_of != c->connection_of(what.node)) {
      return then(write_reply::changed, "its connection was replaced");
    }
    std::string bytes;
    commands::write(bytes, what);
    c->ask(what.node, bytes, clock::now() + inquiry_limit,
           [self, i = what.node, then](const io::redis_answer& a) {
             if (const auto d = self.lock()) d->heed_write(i, a);
             if (a.reply == nullptr) return then(write_reply::failed, a.why->message());
             const bool refused = a.reply->is(wire::reply_kind::error);
             then(replies::write(*a.reply), refused ? replies::error_text(*a.reply) : "");
           });
  });
}

cluster::node_view cluster::view_of(node_index i) const {
  const auto trouble = members_[i]->connection->trouble();
  const std::lock_guard hold(mutex_);
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
