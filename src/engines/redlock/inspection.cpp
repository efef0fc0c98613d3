#include "engines/redlock/inspection.hpp"

#include "engines/redlock/commands.hpp"
#include "engines/redlock/look_at_nodes.hpp"
#include "engines/redlock/replies.hpp"
#include "io/redis/redis_facts.hpp"
#include "io/thread/random.hpp"
#include "wire/server_error.hpp"

#include <string>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::redlock::admission;

constexpr duration reload_pause = 100ms;
/// Locks may have any name, and so may keys that are written.
constexpr std::string_view any_lock = "any lock";

reading<node_reading> reading_of(const io::redis_answer& a, bool tokens) {
  if (a.reply == nullptr) return fault::silent;
  if (tokens) return replies::look(*a.reply);
  const auto at = replies::time(*a.reply);
  if (!at) return at.why();
  return node_reading{.time = *at, .record = std::nullopt};
}

}  // namespace

core::redlock::node_facts facts_of(const io::redis_facts& server, const settings& set) {
  core::redlock::node_facts f;
  f.run_id = io::life_of(server);
  // A sentinel has no role, and is known by its mode.
  f.master = server.role == "master" || server.mode == "sentinel";
  f.standalone = server.mode == "standalone";
  if (!set.may_evict) {
    const std::string drops = unsafe_setting(server);
    if (!drops.empty()) {
      f.unsafe = drops + ", or accept it: may_evict=yes in the store's URL";
    }
  }
  return f;
}

cluster::inspection::inspection(cluster& of, node_index i, occasion why)
    : of_(of.weak_from_this()), node_(i), why_(why), connection_(of.connection_of(i)) {}

void cluster::inspection::ask(cluster& c, std::string_view question, answered then) {
  c.ask(
      node_, question, clock::now() + inquiry_limit,
      [self = shared_from_this(), then](const io::redis_answer& a) {
        const auto of = self->of_.lock();
        if (!of || (a.reply == nullptr && self->why_ == occasion::passing)) return;
        ((*self).*then)(*of, a);
      },
      kind::upkeep);
}

void cluster::inspection::ask_info(cluster& c) {
  std::string bytes;
  commands::info(bytes);
  ask(c, bytes, &inspection::take_info);
}

void cluster::inspection::take_info(cluster& c, const io::redis_answer& a) {
  if (connection_ == no_connection || connection_ != c.connection_of(node_)) return;
  {
    const io::held_mutex hold(c.mutex_);
    member& m = *c.members_[node_];
    m.informed = a.reply != nullptr && io::take_later_info(*m.server, *a.reply);
  }
  ask_config(c);
}

void cluster::inspection::ask_config(cluster& c) {
  std::string bytes;
  commands::persistence(bytes);
  ask(c, bytes, &inspection::take_config);
}

void cluster::inspection::take_config(cluster& c, const io::redis_answer& a) {
  // Silence is not the answer that it syncs nothing.
  if (a.reply == nullptr) return finish(c, a);
  {
    const io::held_mutex hold(c.mutex_);
    const auto& server = c.members_[node_]->server;
    const bool refused = a.reply->is(wire::reply_kind::error);
    c.members_[node_]->refused.config = refused ? wire::printable(a.reply->text) : "";
    if (server && io::keeps_every_write(*server, *a.reply)) {
      syncs_ = syncing::always;
    } else if (server && io::keeps_every_write_but_rewrites(*server, *a.reply)) {
      syncs_ = syncing::rewriting;
    }
  }
  ask_reload(c);
}

/// What is synced has to be read back, too.
void cluster::inspection::ask_reload(cluster& c) {
  std::vector<std::string> questions;
  {
    const io::held_mutex hold(c.mutex_);
    member& m = *c.members_[node_];
    if (syncs_ != syncing::no && io::redis_reload::is_in_doubt(*m.server)) {
      questions = io::redis_reload::questions(any_lock);
    } else {
      m.refused.reload.clear();
    }
  }
  if (questions.empty()) return ask_record(c);
  reload_left_ = questions.size();
  for (const std::string& question : questions) ask(c, question, &inspection::take_reload);
}

void cluster::inspection::take_reload(cluster& c, const io::redis_answer& a) {
  if (reload_left_ == 0) return;
  if (a.reply == nullptr) {
    // The first silence is the end of it, whatever comes behind.
    reload_left_ = 0;
    return finish(c, a);
  }
  reload_.answered(*a.reply);
  if (--reload_left_ > 0) return;
  if (!reload_.objection().empty()) syncs_ = syncing::no;
  {
    const io::held_mutex hold(c.mutex_);
    c.members_[node_]->refused.reload = reload_.objection();
  }
  ask_record(c);
}

void cluster::inspection::ask_record(cluster& c) {
  std::string bytes;
  // Without records a user needs no right to any key but the locks.
  if (!c.settings_.tokens) {
    commands::renew_nothing(bytes);
    return ask(c, bytes, &inspection::take_right);
  }
  commands::look(bytes);
  asked_ = clock::now();
  ask(c, bytes, &inspection::finish);
}

/// A lock is taken without a script, and neither extended nor released without one: a node that
/// runs none must not grant it.
void cluster::inspection::take_right(cluster& c, const io::redis_answer& a) {
  if (a.reply == nullptr) return finish(c, a);
  if (const auto runs = replies::renew_plain(*a.reply, 0); !runs) {
    return finish_in_vain(c, a, runs.why(),
                          "the scripts that extend and release a lock cannot be run");
  }
  std::string bytes;
  commands::time(bytes);
  asked_ = clock::now();
  ask(c, bytes, &inspection::finish);
}

void cluster::inspection::finish(cluster& c, const io::redis_answer& a) {
  member& m = *c.members_[node_];
  const bool same = connection_ == m.number.load() && m.connection->is_up();
  if (connection_ == no_connection || !same) return;
  const reading<node_reading> read = reading_of(a, c.settings_.tokens);
  const bool refused = !read && read.why() == fault::permission && why_ == occasion::passing;
  if (refused && may_vote_unseen(c)) {
    const io::held_mutex hold(c.mutex_);
    m.refused.look = c.addresses_[node_] +
                     ": its state cannot be read any more: " + replies::error_text(*a.reply);
    return;
  }
  if (!read) return finish_in_vain(c, a, read.why());
  core::redlock::node_facts f;
  {
    const io::held_mutex hold(c.mutex_);
    f = facts_of(*m.server, c.settings_);
    m.facts_of = connection_;
    m.judged = true;
    m.refused.unreadable.clear();
    m.refused.barred = false;
    m.refused.look.clear();
  }
  f.address = c.addresses_[node_];
  f.durable = syncs_ == syncing::always;
  f.rewriting = syncs_ == syncing::rewriting;
  if (c.settings_.tokens) f.record = read->record;
  f.at = read->time;
  f.asked = asked_;
  const std::string fresh = io::random_session_id().str();
  c.advance([&](admission& x) { return x.looked_at(node_, f, fresh, a.at); });
  c.advance([&](admission& x) { return x.on_time(node_, read->time, asked_, a.at); });
}

/// Whether a voter whose record may no longer be read is what it was when it was: the same life of
/// the same data, as durable as its record says. Whatever else changes there, the scripts compare.
bool cluster::inspection::may_vote_unseen(const cluster& c) const {
  const io::held_mutex hold(c.mutex_);
  const member& m = *c.members_[node_];
  if (!m.informed || !c.admission_.voters().has(node_)) return false;
  const auto is = facts_of(*m.server, c.settings_);
  const auto& was = c.admission_.facts_of(node_);
  const bool durable = syncs_ == syncing::rewriting ? was.durable : syncs_ == syncing::always;
  const bool recorded = !was.record || was.record->durable == durable;
  return core::redlock::misfit_of_kind(is).empty() && is.run_id == was.run_id &&
         durable == was.durable && recorded;
}

/// A node whose record cannot be read does not vote; it is asked again while it is connected.
void cluster::inspection::finish_in_vain(cluster& c, const io::redis_answer& a, fault why,
                                         std::string_view what) const {
  member& m = *c.members_[node_];
  const bool refused = a.reply != nullptr && a.reply->is(wire::reply_kind::error);
  const std::string damage = a.reply == nullptr ? "" : replies::damage_in_look(*a.reply);
  core::redlock::node_facts f;
  bool unfit{};
  {
    const io::held_mutex hold(c.mutex_);
    f = facts_of(*m.server, c.settings_);
    // These answer no script that has keys, and are known by what they said of themselves.
    unfit = !f.master || !f.standalone;
    m.judged = true;
    m.refused.unreadable.clear();
    m.refused.barred = false;
    m.refused.look.clear();
    if (!unfit) {
      m.refused.barred = why == fault::permission;
      const bool not_loaded = why == fault::script_missing && !m.refused.load.empty();
      m.refused.unreadable = c.addresses_[node_] + ": " + std::string(what) + ": " +
                             (not_loaded        ? m.refused.load
                              : refused         ? replies::error_text(*a.reply)
                              : !damage.empty() ? damage
                                                : core::redlock::action_on(why).text);
    }
  }
  f.address = c.addresses_[node_];
  // Two states that pass by themselves, and soon.
  const bool soon = why == fault::loading || why == fault::script_missing;
  // Behind another connection it is looked at anew.
  c.loop_->at(clock::now() + (soon ? reload_pause : inquiry_limit),
              [of = of_, i = node_, connection = connection_] {
                const auto still = of.lock();
                if (still && still->connection_of(i) == connection) {
                  still->inspect(i, occasion::needed);
                }
              });
  c.advance([&](admission& x) {
    return unfit ? x.looked_at(node_, f, {}, a.at) : x.disconnected(node_, clock::now());
  });
}

}  // namespace holdfast::engines::redlock
