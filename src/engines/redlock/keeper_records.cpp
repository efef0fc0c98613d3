#include "core/assert.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/gathering.hpp"
#include "engines/redlock/keeper.hpp"
#include "engines/redlock/max_ttl.hpp"
#include "engines/redlock/replies.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::engines::redlock {

namespace {

using core::status;
using core::redlock::fault;

/// Some times more than a node takes for one.
constexpr duration a_release = std::chrono::microseconds{250};

std::string of_time(wall_time t) { return std::to_string(t.time_since_epoch().count()); }

}  // namespace

/// One question to all nodes that vote, to write the session's record, and what became of it.
struct keeper::opening {
  core::open_reply reply{};  ///< So far; `sent` is when the question was.
  time_point limit{};        ///< Until then others may be asked.
  node_set asked{};          ///< They may have the record, whether they vote later or not.
  std::shared_ptr<const ballots> ballot{};
  core::on<core::open_reply> done{};
  node_set recorded{};
  node_set denied{};
  node_set refused{};  ///< The ttl is too long for them.
  node_set barred{};   ///< They do not let this user keep a session.
  std::string text{};  ///< What all others said.
};

/// The session's record on one node; a node that lost it gets it again from the same bytes.
std::string keeper::record_bytes(node_index i, const ballots& b) const {
  const owner_info& o = draft_.owner;
  const std::string pid = std::to_string(o.pid);
  const std::string started = of_time(o.started);
  const std::string opened = of_time(draft_.opened);
  const std::array<std::pair<std::string_view, std::string_view>, 8> fields{
      {{"host", o.host},
       {"boot_id", o.boot_id},
       {"pid", pid},
       {"program", o.program},
       {"instance", o.instance},
       {"label", o.label},
       {"started", started},
       {"opened", opened}}};
  std::string bytes;
  commands::open(bytes, draft_.id, draft_.ttl, b.nonces[i], fields);
  return bytes;
}

void keeper::open(core::on<core::open_reply> done) {
  const auto& set = cluster_->set();
  const time_point limit =
      clock::now() + ready_limit + return_timeouts * set.timeout_for(set.max_ttl);
  cluster_->when_ready(limit, [self = shared_from_this(), limit, done = std::move(done)] {
    self->open_records(limit, {}, done);
  });
}

/// A majority is asked as soon as it votes; where some of it refuse, nodes that are further away,
/// or the same with another record, may still make another one.
void keeper::open_later(const std::shared_ptr<opening>& o) {
  const node_set asked = o->asked;
  // Late answers keep the question, and not what waited for it.
  const auto done = std::exchange(o->done, {});
  if (clock::now() >= o->limit) return give_up(o->reply, asked, done);
  cluster_->when_ready(
      o->limit,
      [self = shared_from_this(), was = o->ballot, asked, why = o->reply, done] {
        const auto now = self->cluster_->now_voting();
        bool more = false;
        for_each(now->voters, [&](node_index i) {
          more = more || !was->voters.has(i) || was->nonces[i] != now->nonces[i];
        });
        if (more) {
          self->open_records(time_point::min(), asked, done);
        } else {
          self->give_up(why, asked, done);
        }
      },
      cluster::readiness::settled);
}

/// `before`: those that were asked already, and may have the record.
void keeper::open_records(time_point limit, node_set before, core::on<core::open_reply> done) {
  auto o = std::make_shared<opening>();
  o->reply.at.inc = 1;
  if (auto v = cluster_->verdict(); !v) {
    static_cast<core::reply&>(o->reply) = reply_of(v.error());
    return give_up(o->reply, before, done);
  }
  o->reply.sent = clock::now();
  o->limit = limit;
  o->asked = before;
  o->done = std::move(done);
  if (!cluster_->set().tokens) return begin(*o);
  ask_for_records(std::move(o));
}

/// The session is open: from now on it is renewed.
void keeper::begin(opening& o) {
  {
    const io::held_mutex hold(mutex_);
    // Another one would forget all locks of the first.
    HOLDFAST_ASSERT(!renewal_);
    // The session's own beats come first; this one is for locks that those do not reach.
    renewal_.emplace(renewal::config{.nodes = cluster_->size(),
                                     .ttl = draft_.ttl,
                                     .period = draft_.ttl / 3 + draft_.ttl / 12},
                     *o.reply.sent);
    asked_ = o.asked;
    wake_at(renewal_->wake());
  }
  o.reply.what = status::ok;
  // Late answers keep the question, and not what waited for it.
  std::exchange(o.done, {})(std::move(o.reply));
}

void keeper::ask_for_records(std::shared_ptr<opening> o) {
  o->ballot = cluster_->now_voting();
  o->asked = o->asked | o->ballot->voters;
  gathering::question q;
  q.to = o->ballot->voters;
  q.limit = std::max(timeout_, core::redlock::resend_after(draft_.ttl));
  q.bytes = [self = shared_from_this(), b = o->ballot](node_index i) {
    return self->record_bytes(i, *b);
  };
  q.each = [o, c = cluster_](node_index i, const io::redis_answer& a) {
    return note_record(*o, *c, i, a);
  };
  q.done = [self = shared_from_this(), o] { self->end_opening(o); };
  gathering::ask(cluster_, std::move(q));
}

/// One node's answer. True: no further one is needed.
bool keeper::note_record(opening& o, cluster& c, node_index i, const io::redis_answer& a) {
  const auto f = a.reply == nullptr ? fault::silent : replies::open(*a.reply);
  if (f == fault::none) {
    o.recorded.add(i);
    return o.recorded.size() >= c.majority();
  }
  if (f == fault::denied) o.denied.add(i);
  if (f == fault::ttl_too_long) o.refused.add(i);
  if (f == fault::permission) o.barred.add(i);
  o.text += "; " + c.addresses()[i] + " " + core::redlock::action_on(f).text;
  if (replies::text_says_more(f)) o.text += ": " + replies::error_text(*a.reply);
  if (core::redlock::action_on(f).look_again && a.reply != nullptr) c.doubted(i);
  return false;
}

void keeper::end_opening(const std::shared_ptr<opening>& o) {
  if (o->recorded.size() >= cluster_->majority()) return begin(*o);
  not_recorded(*o);
  if (o->reply.what != status::unavailable) {
    return give_up(o->reply, o->asked, std::exchange(o->done, {}));
  }
  open_later(o);
}

/// What fewer than a majority recorded would be listed as a session for its ttl. Who was asked may
/// vote no more, or be away by now, and have it all the same.
void keeper::give_up(const core::open_reply& why, node_set asked,
                     const core::on<core::open_reply>& done) {
  if (!asked.empty()) end_records({}, asked, [](const core::reply&) {});
  done(why);
}

/// Why too few nodes have the session's record.
void keeper::not_recorded(opening& o) const {
  const std::size_t blocking = core::redlock::deny_count(cluster_->size());
  const bool fits_too_few =
      o.refused.size() >= blocking ||
      (!o.refused.empty() && o.recorded.size() + o.refused.size() >= cluster_->majority());
  core::open_reply& r = o.reply;
  r.needs_operator = o.barred.size() >= blocking;
  r.what = o.denied.size() >= blocking ? status::denied
           : fits_too_few              ? status::invalid
                                       : status::unavailable;
  r.text = "the session was recorded by " + std::to_string(o.recorded.size()) + " of " +
           std::to_string(cluster_->size()) + " nodes, needed are " +
           std::to_string(cluster_->majority()) + o.text;
  if (r.what != status::invalid) return;
  r.ttl_limit = longest_ttl(*cluster_);
  r.text = ttl_too_long(draft_.ttl, r.ttl_limit);
}

/// Deletes the record everywhere, at the nodes `also` too, and gives every key back; answers when
/// others can have them.
void keeper::end_records(std::vector<placed_key> keys, node_set also, core::on<core::reply> done) {
  struct ending {
    std::atomic<std::size_t> left;
    std::atomic<bool> all_free{true};
    core::on<core::reply> done;
  };
  const auto e = std::make_shared<ending>();
  e->left = keys.size() + 1;
  e->done = std::move(done);
  const auto part = [e](bool freed) {
    if (!freed) e->all_free = false;
    if (--e->left > 0) return;
    core::reply r;
    r.what = e->all_free ? status::ok : status::unknown;
    if (!e->all_free) r.text = "too few nodes answered in time; what is left ends with its ttl";
    e->done(r);
  };
  // All are sent together, so the last one waits at the nodes for all others.
  const duration timeout = timeout_ + a_release * static_cast<duration::rep>(keys.size());
  for (placed_key& key : keys) {
    give_back(std::move(key), timeout,
              [part](const core::leave_reply& r) { part(r.what == status::ok); });
  }
  if (!cluster_->set().tokens) return part(true);
  const auto closed = std::make_shared<node_set>();
  gathering::question q;
  q.to = cluster_->now_voting()->keepers | also;
  q.limit = timeout;
  q.bytes = [id = draft_.id](node_index) {
    std::string bytes;
    commands::close(bytes, id);
    return bytes;
  };
  q.each = [closed, c = cluster_](node_index i, const io::redis_answer& a) {
    if (a.reply != nullptr && replies::close(*a.reply)) closed->add(i);
    return closed->size() >= c->majority();
  };
  // Its own record may stay for a ttl: nothing waits for that.
  q.done = [part] { part(true); };
  gathering::ask(cluster_, std::move(q));
}

}  // namespace holdfast::engines::redlock
