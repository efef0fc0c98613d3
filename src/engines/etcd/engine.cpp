#include "engines/etcd/engine.hpp"

#include "core/replies.hpp"
#include "engines/etcd/enqueuing.hpp"
#include "engines/etcd/leaving.hpp"
#include "engines/etcd/listing.hpp"
#include "engines/etcd/requests.hpp"
#include "io/thread/armed_notice.hpp"

#include <algorithm>
#include <span>
#include <utility>

/// The port. Each operation goes to the loop's thread first, where everything of the engine is;
/// what takes several transactions is in enqueuing, leaving and listing.

namespace holdfast::engines::etcd {

namespace {

using core::reply_with;
using core::status;

constexpr unsigned opens_max = 8;

template <class R>
R unreadable() {
  return reply_with<R>(status::unknown, "the answer is in no known form");
}

template <class R>
R no_session(const session_id& id) {
  return reply_with<R>(status::gone, core::no_session_text(id));
}

session_table session_in(const store& s, const txn_result& r) {
  session_table t;
  if (!r.reply->ops.empty()) t.add(s.keys(), r.reply->ops[0].range);
  return t;
}

template <class R>
R damaged(const std::string& key) {
  return reply_with<R>(status::damaged,
                       "the key " + key + " is not of holdfast, or of a newer one");
}

/// Of a page that ends within a session nothing is known of that one.
void add_whole(const session_table& page, bool more, std::size_t most, core::glance_reply& to) {
  std::size_t left = page.all().size();
  if (more && left > 0) --left;
  left = std::min(left, most);
  for (const auto& [id, record] : page.all()) {
    if (left-- == 0) return;
    to.there.push_back(record);
  }
}

core::glance_reply glanced(const store& s, const core::glance_request& r,
                           const std::vector<wire::etcd::op_reply>& ops) {
  auto reply = reply_with<core::glance_reply>(status::ok);
  const std::size_t pages = r.others > 0 ? 2 : 0;
  if (ops.size() < pages) return unreadable<core::glance_reply>();
  session_table named;
  for (std::size_t i = 0; i < ops.size() - pages; ++i) named.add(s.keys(), ops[i].range);
  if (!named.damage().empty()) return damaged<core::glance_reply>(named.damage());
  add_whole(named, false, named.all().size(), reply);
  const std::size_t asked_for = reply.there.size() + r.others;
  for (std::size_t i = ops.size() - pages; i < ops.size(); ++i) {
    session_table page;
    page.add(s.keys(), ops[i].range);
    if (page.damage().empty()) {
      add_whole(page, ops[i].range.more, asked_for - reply.there.size(), reply);
    }
  }
  return reply;
}

void open_on(const std::shared_ptr<store>& s, const core::session_record& draft, unsigned tries,
             const core::on<core::open_reply>& done) {
  auto& servers = s->servers();
  servers.txn(
      requests::open(s->keys(), servers.epoch().mod, draft), repeat::never,
      [s, draft, tries, done](const txn_result& r) {
        if (r.what != status::ok) {
          return s->take_back(s->keys().session(draft.id), r, [done](core::reply why) {
            done(reply_with<core::open_reply>(std::move(why)));
          });
        }
        auto reply = reply_with<core::open_reply>(status::ok);
        reply.gate = 1;
        if (r.reply->succeeded) {
          s->opened();
          reply.at.inc = static_cast<std::uint64_t>(r.reply->head.revision);
          return done(std::move(reply));
        }
        const auto there = session_in(*s, r);
        if (!there.damage().empty()) return done(damaged<core::open_reply>(there.damage()));
        // An earlier attempt made it whose answer was lost: ids do not come twice.
        if (const auto* own = there.find(draft.id)) {
          if (own->at.denied) {
            return done(reply_with<core::open_reply>(status::denied, core::denial_text(*own)));
          }
          reply.at = own->at;
          reply.gate = own->gate;
          return done(std::move(reply));
        }
        // Neither there nor made: the epoch that the transaction compares was another.
        if (tries == 0) {
          return done(reply_with<core::open_reply>(status::unavailable, "its epoch changes"));
        }
        s->servers().doubt_epoch();
        open_on(s, draft, tries - 1, done);
      });
}

/// Once more when it was refused, perhaps for an entry of ours that is gone by now: nothing was
/// made then. It is not kept until they have left: on a server that hangs it would last twice as
/// long.
void enqueue_beside_leaves(const std::shared_ptr<store>& s, const core::enqueue_request& r,
                           const core::on<core::queue_view>& done) {
  const auto judge = [s, r, done](core::queue_view v) {
    if (v.what != status::busy && v.what != status::conflicting) return done(std::move(v));
    s->leaves().after(r.name, [s, r, done] { std::make_shared<enqueuing>(s, r, done)->start(); });
  };
  std::make_shared<enqueuing>(s, r, judge)->start();
}

void deny_on(const std::shared_ptr<store>& s, const core::deny_request& r,
             const core::on<core::deny_reply>& done) {
  s->servers().txn(requests::deny(s->keys(), r.id, {r.by, r.why}), repeat::never,
                   [s, r, done](const txn_result& t) {
                     if (t.what != status::ok) return done(reply_with<core::deny_reply>(t));
                     const auto there = session_in(*s, t);
                     if (!there.damage().empty())
                       return done(damaged<core::deny_reply>(there.damage()));
                     const auto* record = there.find(r.id);
                     if (record == nullptr) return done(no_session<core::deny_reply>(r.id));
                     auto reply = reply_with<core::deny_reply>(status::ok);
                     reply.already = !t.reply->succeeded;
                     reply.ttl = record->ttl;
                     done(std::move(reply));
                   });
}

}  // namespace

void etcd_engine::open(const core::open_request& r, core::on<core::open_reply> done) {
  loop().run([s = store_, draft = r.draft, done = std::move(done)] {
    open_on(s, draft, opens_max, done);
  });
}

void etcd_engine::beat(const core::beat_request& r, core::on<core::beat_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] {
    // A beat that is put twice is two versions of one session that lives: no harm.
    s->servers().txn(requests::beat(s->keys(), r.id, r.inc), repeat::hedged,
                     [s, r, done](const txn_result& t) {
                       if (t.what != status::ok) {
                         return done(reply_with<core::beat_reply>(t));
                       }
                       auto reply = reply_with<core::beat_reply>(status::ok);
                       reply.proves = r.attempt;
                       if (t.reply->succeeded) return done(std::move(reply));
                       const auto why = refusal(session_in(*s, t), r.id, r.inc);
                       if (!why) return done(unreadable<core::beat_reply>());
                       done(reply_with<core::beat_reply>(why->what, why->text));
                     });
  });
}

void etcd_engine::close(const core::close_request& r, core::on<core::reply> done) {
  loop().run([s = store_, r, done = std::move(done)] {
    // They go with the record in one step, as far as they fit into a transaction.
    const auto entries = s->keys_of(r.id);
    s->servers().txn(requests::close(s->keys(), r.id, r.inc, entries), repeat::never,
                     [s, r, entries, done](const txn_result& t) {
                       if (t.what != status::ok) return done(t);
                       s->forget_all(r.id);
                       if (!t.reply->succeeded) return done(no_session<core::reply>(r.id));
                       // Those that did not fit are dead now.
                       for (std::size_t at = requests::sweep_max; at < entries.size();
                            at += requests::sweep_max) {
                         const auto end = std::min(entries.size(), at + requests::sweep_max);
                         s->sweep({entries.begin() + static_cast<std::ptrdiff_t>(at),
                                   entries.begin() + static_cast<std::ptrdiff_t>(end)});
                       }
                       done({status::ok, {}});
                     });
  });
}

void etcd_engine::forget(const session_id& id, const core::reply&) {
  loop().run([s = store_, id] { s->forget_all(id); });
}

void etcd_engine::enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) {
  loop().run([s = store_, r, done = std::move(done)]() mutable {
    if (s->leaves().has(r.name)) return enqueue_beside_leaves(s, r, done);
    std::make_shared<enqueuing>(s, std::move(r), std::move(done))->start();
  });
}

void etcd_engine::leave(const core::leave_request& r, core::on<core::leave_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] {
    s->leaves().began(r.name);
    const auto answer = [s, name = r.name, done](core::leave_reply reply) {
      s->leaves().ended(name);
      done(std::move(reply));
    };
    std::make_shared<leaving>(s, r, answer)->start();
  });
}

void etcd_engine::confirm(const core::confirm_request& r, core::on<core::queue_view> done) {
  loop().run([s = store_, r, done = std::move(done)]() mutable {
    std::make_shared<confirming>(s, std::move(r), std::move(done))->start();
  });
}

void etcd_engine::take(const core::take_request& r, core::on<core::take_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] {
    s->servers().txn(requests::take(s->keys(), r.id, r.seen), repeat::never,
                     [s, r, done](const txn_result& t) {
                       if (t.what != status::ok) {
                         return done(reply_with<core::take_reply>(t));
                       }
                       if (t.reply->succeeded) {
                         // Which entries another client's session had is not known here.
                         s->sweep_some();
                         return done(reply_with<core::take_reply>(status::ok));
                       }
                       const auto there = session_in(*s, t);
                       if (!there.damage().empty()) {
                         return done(damaged<core::take_reply>(there.damage()));
                       }
                       const auto* record = there.find(r.id);
                       if (record == nullptr) return done(no_session<core::take_reply>(r.id));
                       auto reply = reply_with<core::take_reply>(
                           status::changed, "the session has changed since it was seen");
                       reply.at = record->at;
                       done(std::move(reply));
                     });
  });
}

void etcd_engine::deny(const core::deny_request& r, core::on<core::deny_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] {
    // No comparison of etcd's tells a damaged record, whose denial nobody could see or lift.
    s->servers().txn(requests::sessions(s->keys(), {&r.id, 1}, 0), repeat::always,
                     [s, r, done](const txn_result& t) {
                       if (t.what != status::ok) {
                         return done(reply_with<core::deny_reply>(t));
                       }
                       const auto there = session_in(*s, t);
                       if (!there.damage().empty()) {
                         return done(damaged<core::deny_reply>(there.damage()));
                       }
                       deny_on(s, r, done);
                     });
  });
}

std::unique_ptr<core::watch_handle> etcd_engine::watch(const core::watch_request& r,
                                                       std::function<void()> notify) {
  const auto number = ++last_watch_;
  auto n = std::make_shared<io::notice>(std::move(notify));
  // Never at once: the notice must not fire inside this call.
  servers()->shared_loop()->post([s = store_, mine = r.mine, number, n] {
    auto seen = s->sight_of(mine);
    // Its view is not known here, or names nobody: it has to look again.
    if (seen.keys.empty()) return n->fire();
    s->watching().arm(number, std::move(seen.keys), seen.revision, n);
  });
  return std::make_unique<io::armed_notice>(
      std::move(n), servers()->shared_loop(),
      [w = store_->shared_watches(), number] { w->forget(number); });
}

bool etcd_engine::lend(core::parking& until) { return servers()->shared_loop()->lend(until); }

void etcd_engine::glance(const core::glance_request& r, core::on<core::glance_reply> done) {
  loop().run([s = store_, r, done = std::move(done)] {
    const auto whom = std::span(r.whom).first(std::min(r.whom.size(), core::glance_max));
    auto t = requests::sessions(s->keys(), whom, 0);
    if (r.others > 0) {
      for (auto& each : requests::others(s->keys(), r.from, r.others).then) {
        t.then.push_back(std::move(each));
      }
    }
    if (t.then.empty()) return done(reply_with<core::glance_reply>(status::ok));
    s->servers().txn(std::move(t), repeat::always, [s, r, done](const txn_result& got) {
      if (got.what != status::ok) return done(reply_with<core::glance_reply>(got));
      done(glanced(*s, r, got.reply->ops));
    });
  });
}

void etcd_engine::list(core::on<core::listing> done) {
  loop().run([s = store_, done = std::move(done)]() mutable {
    std::make_shared<listing>(s, std::move(done))->start();
  });
}

}  // namespace holdfast::engines::etcd
