#include "engines/redlock/engine.hpp"

#include "core/replies.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/gathering.hpp"
#include "engines/redlock/glance.hpp"
#include "engines/redlock/listing.hpp"
#include "engines/redlock/max_ttl.hpp"
#include "engines/redlock/replies.hpp"
#include "io/thread/armed_notice.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using core::reply_with;
using core::status;

/// What the nodes said to one deny.
struct denials {
  std::size_t done{};
  std::size_t blank{};  ///< Denied, though they had no record of the session.
  std::size_t already{};
  duration ttl{};
  std::string trouble{};
};

core::deny_reply conclude(const denials& d, const cluster& c, const session_id& id) {
  core::deny_reply r;
  r.ttl = d.ttl;
  r.already = d.already >= core::redlock::deny_count(c.size());
  if (d.done < core::redlock::deny_count(c.size())) {
    const auto verdict = c.verdict();
    // Who lost its state or is away was not asked; the verdict knows of it.
    if (d.done == 0 && !verdict) {
      static_cast<core::reply&>(r) = reply_of(verdict.error());
      return r;
    }
    r.what = d.done == 0 ? status::unavailable : status::unknown;
    r.text = "it is denied on " + std::to_string(d.done) + " of " + std::to_string(c.size()) +
             " nodes, needed are " + std::to_string(core::redlock::deny_count(c.size())) +
             d.trouble + (verdict ? "" : "; " + verdict.error().message()) + ". Repeat it";
  } else if (d.blank == d.done) {
    r.what = status::gone;
    // It may hold locks all the same, and its own ttl is gone with its records.
    r.ttl = longest_ttl(c);
    r.text = "no node knows the session " + id.str();
  } else {
    r.what = status::ok;
  }
  return r;
}

}  // namespace

redlock_engine::redlock_engine(std::shared_ptr<cluster> c)
    : cluster_(std::move(c)),
      waiters_(std::make_shared<waiters>(cluster_)),
      shown_(std::make_shared<shown_tokens>()) {
  cluster_->listen(waiters_);
}

redlock_engine::~redlock_engine() {
  cluster_->close(cluster_->set().timeout_for(cluster_->set().max_ttl));
}

std::shared_ptr<keeper> redlock_engine::find(const session_id& id) const {
  const io::held_mutex hold(mutex_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

void redlock_engine::open(const core::open_request& r, core::on<core::open_reply> done) {
  const auto k = std::make_shared<keeper>(cluster_, waiters_, r.draft);
  {
    const io::held_mutex hold(mutex_);
    sessions_[r.draft.id] = k;
  }
  // An engine that is gone has no sessions to forget.
  k->open([self = weak_from_this(), id = r.draft.id, done = std::move(done)](core::open_reply x) {
    if (const auto e = self.lock(); e && x.what != status::ok) (void)e->take_out(id);
    done(std::move(x));
  });
}

std::shared_ptr<keeper> redlock_engine::take_out(const session_id& id) {
  const io::held_mutex hold(mutex_);
  const auto found = sessions_.extract(id);
  return found ? found.mapped() : nullptr;
}

void redlock_engine::forget(const session_id& id, const core::reply& why) {
  // The owner of one that was denied has still to close it.
  const auto k = why.what == status::denied ? find(id) : take_out(id);
  if (k) k->drop(why);
}

void redlock_engine::beat(const core::beat_request& r, core::on<core::beat_reply> done) {
  const auto k = find(r.id);
  if (!k) return done(reply_with<core::beat_reply>(status::gone));
  k->beat(r.attempt, std::move(done));
}

void redlock_engine::close(const core::close_request& r, core::on<core::reply> done) {
  const auto k = take_out(r.id);
  if (!k) return done(reply_with<core::reply>(status::gone));
  k->close([k, done = std::move(done)](core::reply x) { done(std::move(x)); });
}

void redlock_engine::enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) {
  const auto k = find(r.id);
  if (!k) return done(reply_with<core::queue_view>(status::gone));
  k->enqueue(r, std::move(done));
}

void redlock_engine::leave(const core::leave_request& r, core::on<core::leave_reply> done) {
  const auto k = find(r.id);
  if (!k) return done(reply_with<core::leave_reply>(status::gone));
  k->leave(r, std::move(done));
}

void redlock_engine::confirm(const core::confirm_request& r, core::on<core::queue_view> done) {
  const auto k = find(r.id);
  if (!k) return done(reply_with<core::queue_view>(status::gone));
  k->confirm(r.request, std::move(done));
}

void redlock_engine::take(const core::take_request&, core::on<core::take_reply> done) {
  done(reply_with<core::take_reply>(
      status::unsupported,
      "redlock cannot break a session: its keys end by themselves, each with its ttl"));
}

void redlock_engine::deny(const core::deny_request& r, core::on<core::deny_reply> done) {
  if (!cluster_->set().tokens) {
    return done(reply_with<core::deny_reply>(
        status::unsupported, "with tokens=off the nodes keep no sessions, so none can be denied"));
  }
  cluster_->when_ready(clock::now() + inquiry_limit, [c = cluster_, r, done = std::move(done)] {
    const auto d = std::make_shared<denials>();
    const auto b = c->now_voting();
    gathering::question q;
    q.to = b->keepers;
    q.limit = inquiry_limit;
    q.bytes = [b, r](node_index i) {
      std::string bytes;
      commands::deny(bytes, r.id, b->nonces[i], r.by, r.why);
      return bytes;
    };
    q.each = [d, c](node_index i, const io::redis_answer& a) {
      const reading<redlock::denial> got =
          a.reply == nullptr ? fault::silent : replies::deny(*a.reply);
      if (!got) {
        d->trouble += "; " + c->addresses()[i] + " " + core::redlock::action_on(got.why()).text;
        return false;
      }
      ++d->done;
      if (got->already) ++d->already;
      if (!got->had_record) ++d->blank;
      d->ttl = std::max(d->ttl, got->ttl);
      return false;
    };
    q.done = [d, c, done, id = r.id] { done(conclude(*d, *c, id)); };
    gathering::ask(c, std::move(q));
  });
}

std::string redlock_engine::trouble() const { return cluster_->silent(); }

std::string redlock_engine::limit_on(const core::leave_request& r) const {
  // The alarm asks, which is to wait for no session's mutex without need.
  if (cluster_->set().extensions == settings::no_limit) return {};
  const auto k = find(r.id);
  return k && k->is_used_up(r.request) ? cluster_->set().extension_limit() : std::string();
}

std::unique_ptr<core::watch_handle> redlock_engine::watch(const core::watch_request& r,
                                                          std::function<void()> notify) {
  auto n = std::make_shared<io::notice>(std::move(notify));
  if (const auto k = find(r.id)) k->watch(r.request, n);
  return std::make_unique<io::armed_notice>(std::move(n));
}

bool redlock_engine::lend(core::parking& until) { return cluster_->loop().lend(until); }

void redlock_engine::list(core::on<core::listing> done) {
  cluster_->when_ready(clock::now() + inquiry_limit,
                       [c = cluster_, shown = shown_, done = std::move(done)] {
                         std::make_shared<listing>(c, shown, done)->start();
                       });
}

void redlock_engine::glance(const core::glance_request& r, core::on<core::glance_reply> done) {
  redlock::glance(cluster_, r, std::move(done));
}

}  // namespace holdfast::engines::redlock
