#include "engines/redis/engine.hpp"

#include "core/conflict.hpp"
#include "core/queue.hpp"
#include "core/replies.hpp"
#include "engines/redis/commands.hpp"
#include "engines/redis/listing.hpp"
#include "engines/redis/replies.hpp"

#include <string_view>
#include <utility>

/// The port: each operation is one script and one round trip. What lists those who are ahead goes
/// through the window, for a thousand such answers at once are more than a connection carries.

namespace holdfast::engines::redis {

namespace {

using core::status;
using nonce = std::string_view;

using enum master::copies;
using enum master::room;

/// What a view says about an entry of this client.
void note_view(master& m, const core::queue_view& v, const session_id& id) {
  if (v.mine.value == 0) return;
  m.saw_token(v.mine.value);
  if (v.what == status::queued) m.box()->expect(v.mine, id, m.hears_in_order());
  if (v.what == status::ok) m.box()->forget(v.mine);
}

}  // namespace

redis_engine::~redis_engine() {
  // What waits for its turn is asked now: a later answer would let it in, and this is gone then.
  window_->flush();
  master_->close(master_->set().node_timeout);
}

template <class R, class Read>
void redis_engine::ask(master::maker make, master::copies its, master::room in, Read read,
                       core::on<R> done) {
  master_->run(std::move(make), its, in,
               [m = std::weak_ptr<master>(master_), read = std::move(read),
                done = std::move(done)](const master::answer& a) {
                 if (a.reply == nullptr) return done(core::reply_with<R>(a.failure));
                 auto got = read(*a.reply);
                 // The answer may come while the engine ends; the next client sweeps then.
                 const auto server = m.lock();
                 if (got.left && server) server->sweep();
                 done(std::move(got.reply));
               });
}

template <class Read>
void redis_engine::ask_who_is_ahead(master::maker make, Read read,
                                    core::on<core::queue_view> done) {
  auto give_up = [m = master_, done] { done(core::reply_with<core::queue_view>(m->not_asked())); };
  auto ask_it = [this, make = std::move(make), read = std::move(read), done = std::move(done)] {
    ask<core::queue_view>(make, awaited, half, read, [w = window_, done](core::queue_view v) {
      if (v.what == status::unavailable) {
        w->refused();
      } else if (v.what == status::unknown) {
        w->unanswered();
      } else {
        w->answered(v.ahead.size());
      }
      done(std::move(v));
    });
  };
  window_->enter({.ask = std::move(ask_it), .give_up = std::move(give_up)});
}

void redis_engine::open(const core::open_request& r, core::on<core::open_reply> done) {
  master_->box()->forget_all_of(r.draft.id);
  ask<core::open_reply>([d = r.draft](nonce n) { return commands::open(n, d); }, awaited, all,
                        [m = master_](const wire::reply& w) {
                          auto got = replies::open(w);
                          // Incarnations come from the counter of the tokens: one that is above it
                          // later shows a store that was set back.
                          m->saw_token(got.reply.at.inc);
                          return got;
                        },
                        std::move(done));
}

void redis_engine::beat(const core::beat_request& r, core::on<core::beat_reply> done) {
  ask<core::beat_reply>(
      [r](nonce n) { return commands::beat(n, r.id, r.inc); }, awaited, all,
      [attempt = r.attempt](const wire::reply& w) { return replies::beat(w, attempt); },
      std::move(done));
}

void redis_engine::close(const core::close_request& r, core::on<core::reply> done) {
  master_->box()->forget_all_of(r.id);
  ask<core::reply>([r](nonce n) { return commands::close(n, r.id, r.inc); }, awaited, all,
                   [](const wire::reply& w) { return replies::close(w); }, std::move(done));
}

void redis_engine::enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) {
  // Kept until the question may be asked; nothing here calls its listener.
  core::enqueue_request plain = r;
  plain.listener = nullptr;
  ask_who_is_ahead(
      [plain, client = master_->client()](nonce n) { return commands::enqueue(n, plain, client); },
      [m = master_, id = r.id, how = r.how](const wire::reply& w) {
        auto got = replies::view(w);
        if (got.reply.what == status::conflicting) {
          const mode there = got.reply.ahead.front().how;
          got.reply = core::conflict(std::move(got.reply), there, how);
        }
        note_view(*m, got.reply, id);
        return got;
      },
      std::move(done));
}

void redis_engine::confirm(const core::confirm_request& r, core::on<core::queue_view> done) {
  // A message gave the lock, and is the answer: the script that gave it has written it down.
  if (master_->box()->take_grant(r.order, r.id)) {
    core::queue_view v;
    v.what = status::ok;
    v.mine = r.order;
    note_view(*master_, v, r.id);
    return done(std::move(v));
  }
  ask_who_is_ahead([r](nonce n) { return commands::confirm(n, r); },
                   [m = master_, id = r.id](const wire::reply& w) {
                     auto got = replies::view(w);
                     note_view(*m, got.reply, id);
                     return got;
                   },
                   std::move(done));
}

void redis_engine::leave(const core::leave_request& r, core::on<core::leave_reply> done) {
  if (r.order.value != 0) master_->box()->forget(r.order);
  ask<core::leave_reply>([r](nonce n) { return commands::leave(n, r); }, awaited, half,
                         [](const wire::reply& w) { return replies::leave(w); }, std::move(done));
}

void redis_engine::take(const core::take_request& r, core::on<core::take_reply> done) {
  ask<core::take_reply>([r](nonce n) { return commands::take(n, r); }, awaited, half,
                        [](const wire::reply& w) { return replies::take(w); }, std::move(done));
}

void redis_engine::deny(const core::deny_request& r, core::on<core::deny_reply> done) {
  ask<core::deny_reply>([r](nonce n) { return commands::deny(n, r); }, awaited, all,
                        [](const wire::reply& w) { return replies::deny(w); }, std::move(done));
}

/// The server keeps no number that every change moves: it would cost every beat a second write.
std::uint64_t redis_engine::revision_of(std::uint64_t picture) {
  const io::held_mutex hold(mutex_);
  if (revision_ == 0 || picture != picture_) ++revision_;
  picture_ = picture;
  return revision_;
}

void redis_engine::list(core::on<core::listing> done) {
  auto then = [weak = weak_from_this(), done = std::move(done)](core::listing all) {
    const auto self = weak.lock();
    if (self && all.what == status::ok) all.revision = self->revision_of(all.revision);
    done(std::move(all));
  };
  std::make_shared<listing>(master_, std::move(then))->start();
}

void redis_engine::glance(const core::glance_request& r, core::on<core::glance_reply> done) {
  ask<core::glance_reply>([r](nonce n) { return commands::glance(n, r); }, not_awaited, half,
                          [](const wire::reply& w) { return replies::glance(w); }, std::move(done));
}

std::unique_ptr<core::watch_handle> redis_engine::watch(const core::watch_request& r,
                                                        std::function<void()> notify) {
  return master_->box()->watch(r.mine, std::move(notify));
}

}  // namespace holdfast::engines::redis
