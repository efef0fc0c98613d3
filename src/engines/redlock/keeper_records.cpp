#include "core/assert.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/gathering.hpp"
#include "engines/redlock/keeper.hpp"
#include "engines/redlock/replies.hpp"
#include "engines/redlock/ttl_limit.hpp"

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

/// What became of one question to all nodes.
struct keeper::tally {
  node_set done{};
  node_set denied{};
  node_set refused{};
  std::string text{};
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
void keeper::open_later(const std::shared_ptr<const ballots>& asked, time_point limit,
                        core::open_reply why, core::on<core::open_reply> done) {
  if (clock::now() >= limit) return give_up(why, asked->voters, done);
  cluster_->when_ready(
      limit,
      [self = shared_from_this(), asked, why = std::move(why), done = std::move(done)] {
        const auto now = self->cluster_->now_voting();
        bool more = false;
        for_each(now->voters, [&](node_index i) {
          more = more || !asked->voters.has(i) || asked->nonces[i] != now->nonces[i];
        });
        if (more) {
          self->open_records(time_point::min(), asked->voters, done);
        } else {
          self->give_up(why, asked->voters, done);
        }
      },
      cluster::readiness::settled);
}

/// `before`: who was asked already, and may have the record.
void keeper::open_records(time_point limit, node_set before, core::on<core::open_reply> done) {
  core::open_reply r;
  r.at.inc = 1;
  if (auto v = cluster_->verdict(); !v) {
    static_cast<core::reply&>(r) = reply_of(v.error());
    return give_up(r, before, done);
  }
  const time_point sent = clock::now();
  r.sent = sent;
  const auto begin = [self = shared_from_this(), sent] {
    const std::lock_guard hold(self->mutex_);
    // Another one would forget all locks of the first.
    HOLDFAST_ASSERT(!self->renewal_);
    // The session's own beats come first; this one is for locks that those do not reach.
    self->renewal_.emplace(renewal::config{.nodes = self->cluster_->size(),
                                           .ttl = self->draft_.ttl,
                                           .period = self->draft_.ttl / 3 + self->draft_.ttl / 12},
                           sent);
    self->wake_at(self->renewal_->wake());
  };
  if (!cluster_->set().tokens) {
    begin();
    r.what = status::ok;
    return done(r);
  }
  const auto t = std::make_shared<tally>();
  const auto b = cluster_->now_voting();
  gathering::question q;
  q.to = b->voters;
  q.limit = std::max(timeout_, core::redlock::resend_after(draft_.ttl));
  q.bytes = [self = shared_from_this(), b](node_index i) { return self->record_bytes(i, *b); };
  q.each = [t, c = cluster_](node_index i, const io::redis_answer& a) {
    const auto f = a.reply == nullptr ? fault::silent : replies::open(*a.reply);
    if (f == fault::none) t->done.add(i);
    if (f == fault::denied) t->denied.add(i);
    if (f == fault::ttl_too_long) t->refused.add(i);
    if (f == fault::none) return t->done.size() >= c->majority();
    t->text += "; " + c->addresses()[i] + " " + core::redlock::action_on(f).text;
    if (replies::text_says_more(f)) t->text += ": " + replies::error_text(*a.reply);
    if (core::redlock::action_on(f).look_again && a.reply != nullptr) c->doubted(i);
    return false;
  };
  q.done = [self = shared_from_this(), t, asked = b, before, limit, begin, done, r]() mutable {
    if (t->done.size() >= self->cluster_->majority()) {
      begin();
      r.what = status::ok;
      return done(r);
    }
    self->not_recorded(*t, r);
    if (r.what != status::unavailable) return self->give_up(r, asked->voters | before, done);
    self->open_later(asked, limit, std::move(r), std::move(done));
  };
  gathering::ask(cluster_, std::move(q));
}

/// What fewer than a majority recorded would be listed as a session for its ttl. Who was asked may
/// vote no more, or be away by now, and have it all the same.
void keeper::give_up(const core::open_reply& why, node_set asked,
                     const core::on<core::open_reply>& done) {
  if (!asked.empty()) end_records({}, asked, [](const core::reply&) {});
  done(why);
}

/// Why too few nodes have the session's record.
void keeper::not_recorded(const tally& t, core::open_reply& r) const {
  const std::size_t blocking = core::redlock::deny_count(cluster_->size());
  const bool fits_too_few =
      t.refused.size() >= blocking ||
      (!t.refused.empty() && t.done.size() + t.refused.size() >= cluster_->majority());
  r.what = t.denied.size() >= blocking ? status::denied
           : fits_too_few              ? status::invalid
                                       : status::unavailable;
  r.text = "the session was recorded by " + std::to_string(t.done.size()) + " of " +
           std::to_string(cluster_->size()) + " nodes, needed are " +
           std::to_string(cluster_->majority()) + t.text;
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
