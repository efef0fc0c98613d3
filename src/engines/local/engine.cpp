#include "engines/local/engine.hpp"

#include "core/conflict.hpp"
#include "core/queue.hpp"
#include "core/replies.hpp"
#include "engines/local/queue_state.hpp"
#include "engines/local/sweeping.hpp"
#include "engines/local/tables.hpp"
#include "engines/local/watches.hpp"

#include <string>
#include <vector>

/// The port: each operation is one transaction under the gate, on the thread that asks, and its
/// answer is there when the function returns. Its answers equal core::ledger's.

namespace holdfast::engines::local {
namespace {

constexpr std::size_t sweep_max = 100;

template <class R>
void refuse(R& reply, core::status what, std::string text) {
  reply.what = what;
  reply.text = std::move(text);
}

template <class R>
void no_session(R& reply, const session_id& id) {
  refuse(reply, core::status::gone, core::no_session_text(id));
}

template <class R>
void say_denied(R& reply, transaction& txn, const session_id& id) {
  const auto s = find_session(txn, id);
  if (!s) return;
  refuse(reply, core::status::denied, core::denial_text(*s));
}

/// The session's head when it is there with this inc and not denied; else the reply says which.
template <class R>
std::optional<session_head> usable(R& reply, transaction& txn, const session_id& id,
                                   std::uint64_t inc) {
  auto head = find_head(txn, id);
  if (!head || head->at.inc != inc) {
    no_session(reply, id);
    return {};
  }
  if (head->at.denied) {
    say_denied(reply, txn, id);
    return {};
  }
  return head;
}

/// Others are granted the same locks in the files that are there now.
template <class R>
bool refused_if_cut_off(R& reply, const environment& store) {
  if (!store.is_cut_off()) return false;
  refuse(reply, core::status::unavailable,
         "the files of the store " + store.place().where().path +
             " were removed or replaced while it was open; end all sessions, locks and stores "
             "of this process that use it, and then open it anew");
  return true;
}

/// What the transaction itself failed with is the answer, whatever the body said.
template <class R>
void answer(const core::on<R>& done, R&& reply, failure failed) {
  if (failed) {
    reply = R{};
    refuse(reply, failed.what, std::move(failed.text));
  }
  done(std::move(reply));
}

/// Changes the stored bytes of a session in place of decoding all of it.
template <class Change>
void change_record(transaction& txn, const session_id& id, Change&& change) {
  const key k = session_key(id);
  const bytes value = txn.get(k.view());
  std::vector<std::byte> copy(value.begin(), value.end());
  if (copy.empty()) return;
  change(std::span<std::byte>(copy));
  txn.put(k.view(), copy);
}

/// How many entries of missing sessions went with it.
std::size_t erase_session(transaction& txn, const session_id& id, wake_list& wakes) {
  (void)txn.erase(session_key(id).view());
  wakes.everybody = true;
  return sweep_on(txn, sweep_max).deleted;
}

/// Writes what adds a record. When there is no room it tries once more without what the dead have
/// left. `body` may run twice.
template <class Body>
failure write_more(environment& store, Body&& body) {
  failure failed = store.write(body);
  if (!failed.full) return failed;
  make_room(store);
  return store.write(body);
}

}  // namespace

void local_engine::open(const core::open_request& r, core::on<core::open_reply> done) {
  core::open_reply reply;
  if (refused_if_cut_off(reply, *store_)) return done(std::move(reply));
  auto failed = write_more(*store_, [&](transaction& txn, wake_list&) {
    auto head = find_head(txn, r.draft.id);
    if (head && head->at.denied) return say_denied(reply, txn, r.draft.id);
    if (!head) {
      if (!txn.require_room()) return;
      core::session_record record = r.draft;
      record.at = {.inc = store_->next_token(txn), .beat = 0, .denied = false};
      record.gate = 1;
      txn.put(session_key(record.id).view(), encode(record));
      head = session_head{record.at, record.gate, record.ttl};
      (void)sweep_on(txn, sweep_max);
    }
    reply.what = core::status::ok;
    reply.at = head->at;
    reply.gate = head->gate;
  });
  answer(done, std::move(reply), std::move(failed));
}

void local_engine::beat(const core::beat_request& r, core::on<core::beat_reply> done) {
  core::beat_reply reply;
  // A session whose files were removed is over, as where the keys of a server are deleted: whoever
  // comes later makes a store of his own, and is granted the same locks.
  if (store_->is_cut_off()) {
    no_session(reply, r.id);
    return done(std::move(reply));
  }
  auto failed = store_->write([&](transaction& txn, wake_list&) {
    const auto head = usable(reply, txn, r.id, r.inc);
    if (!head) return;
    change_record(txn, r.id, [&](std::span<std::byte> v) { set_beat(v, head->at.beat + 1); });
    reply.what = core::status::ok;
    reply.proves = r.attempt;
  });
  answer(done, std::move(reply), std::move(failed));
}

void local_engine::close(const core::close_request& r, core::on<core::reply> done) {
  core::reply reply;
  std::size_t deleted = 0;
  auto failed = store_->write([&](transaction& txn, wake_list& wakes) {
    if (!is_there(txn, r.id, r.inc)) return no_session(reply, r.id);
    deleted = erase_session(txn, r.id, wakes);
    reply.what = core::status::ok;
  });
  if (!failed && deleted != 0) sweep_rest(*store_);
  answer(done, std::move(reply), std::move(failed));
}

namespace {

void enqueue_in(transaction& txn, environment& store, const core::enqueue_request& r,
                core::queue_view& reply) {
  const auto self = usable(reply, txn, r.id, r.inc);
  if (!self) return;
  queue_state queue(txn, r.name);
  queue.sweep(sweep_max);
  // Before the gate of the session: it shuts out what comes late, and this one is there.
  if (const auto there = queue.find(r.id, r.inc, r.request)) {
    reply = queue.view(*there);
    return;
  }
  if (r.gate != self->gate) {
    reply.gate = self->gate;
    return refuse(reply, core::status::stale_gate, "an earlier gate");
  }
  if (!core::fits(queue.live(), r.how)) {
    const mode there = queue.live().front().how;
    queue.add({.order = token_max, .owner = r.id, .inc = r.inc, .request = r.request});
    reply = core::conflict(queue.view(token_max), there, r.how);
    return;
  }
  const bool full = queue.live().size() >= core::waiters_max;
  const core::entry mine{.order = token{store.next_token(txn)},
                         .owner = r.id,
                         .inc = r.inc,
                         .request = r.request,
                         .how = r.how,
                         .since = r.since};
  if (!txn.good()) return;
  queue.add(mine);
  reply = queue.view(mine.order);
  if (reply.what == core::status::queued && r.leave_if_busy) {
    reply.what = core::status::busy;
    reply.mine = {};
    reply.targets.clear();
    return;
  }
  // Behind the answer to a try, which leaves no entry and needs no room.
  if (full) {
    reply = {};
    return refuse(reply, core::status::too_many, core::too_many_text());
  }
  if (txn.require_room()) put_entry(txn, r.name, {mine, store.slot()});
}

void leave_in(transaction& txn, const core::leave_request& r, core::leave_reply& reply,
              wake_list& wakes) {
  // Also when the session is gone: then there is one dead entry less.
  auto mine = r.order.value != 0 ? find_entry(txn, r.name, r.order)
                                 : find_request(txn, r.name, r.id, r.inc, r.request);
  if (mine && mine->what.owner == r.id && mine->what.inc == r.inc) {
    add_watchers(txn, r.name, mine->what, wakes.slots);
    (void)txn.erase(entry_key(queue_prefix(r.name), mine->what.order).view());
  }
  const auto self = find_head(txn, r.id);
  if (!self || self->at.inc != r.inc) return no_session(reply, r.id);
  reply.what = core::status::ok;
  reply.gate = self->gate;
  if (!r.move_gate) return;
  ++reply.gate;
  change_record(txn, r.id, [&](std::span<std::byte> v) { set_gate(v, reply.gate); });
}

}  // namespace

void local_engine::enqueue(const core::enqueue_request& r, core::on<core::queue_view> done) {
  core::queue_view reply;
  auto failed = write_more(
      *store_, [&](transaction& txn, wake_list&) { enqueue_in(txn, *store_, r, reply = {}); });
  answer(done, std::move(reply), std::move(failed));
}

void local_engine::leave(const core::leave_request& r, core::on<core::leave_reply> done) {
  core::leave_reply reply;
  auto failed =
      store_->write([&](transaction& txn, wake_list& wakes) { leave_in(txn, r, reply, wakes); });
  answer(done, std::move(reply), std::move(failed));
}

void local_engine::confirm(const core::confirm_request& r, core::on<core::queue_view> done) {
  core::queue_view reply;
  auto failed = store_->read([&](transaction& txn) {
    if (!usable(reply, txn, r.id, r.inc)) return;
    const auto mine = find_entry(txn, r.name, r.order);
    if (!mine || mine->what.owner != r.id || mine->what.inc != r.inc) {
      return refuse(reply, core::status::gone, "the entry is not there");
    }
    reply = queue_state(txn, r.name).view(r.order);
  });
  answer(done, std::move(reply), std::move(failed));
}

void local_engine::take(const core::take_request& r, core::on<core::take_reply> done) {
  core::take_reply reply;
  std::size_t deleted = 0;
  auto failed = store_->write([&](transaction& txn, wake_list& wakes) {
    const auto head = find_head(txn, r.id);
    if (!head) return no_session(reply, r.id);
    if (head->at != r.seen) {
      reply.at = head->at;
      return refuse(reply, core::status::changed, "the session has changed since it was seen");
    }
    deleted = erase_session(txn, r.id, wakes);
    reply.what = core::status::ok;
  });
  if (!failed && deleted != 0) sweep_rest(*store_);
  answer(done, std::move(reply), std::move(failed));
}

void local_engine::deny(const core::deny_request& r, core::on<core::deny_reply> done) {
  core::deny_reply reply;
  if (refused_if_cut_off(reply, *store_)) return done(std::move(reply));
  auto failed = store_->write([&](transaction& txn, wake_list&) {
    auto record = find_session(txn, r.id);
    if (!record) return no_session(reply, r.id);
    reply.what = core::status::ok;
    reply.already = record->at.denied;
    reply.ttl = record->ttl;
    if (reply.already) return;
    record->at.denied = true;
    record->denied_by = r.by;
    record->denied_why = r.why;
    txn.put(session_key(r.id).view(), encode(*record));
  });
  answer(done, std::move(reply), std::move(failed));
}

bool local_engine::lend(core::parking& until) {
  return !store_->is_inherited() && store_->watching().lend(store_, until);
}

std::unique_ptr<core::watch_handle> local_engine::watch(const core::watch_request& r,
                                                        std::function<void()> notify) {
  // A forked child has no thread here and no right to start one on its parent's memory.
  if (store_->is_inherited()) return std::make_unique<core::watch_handle>();
  return store_->watching().arm(store_, r, std::move(notify));
}

void local_engine::list(core::on<core::listing> done) {
  core::listing reply;
  if (refused_if_cut_off(reply, *store_)) return done(std::move(reply));
  copied_records all;
  auto failed = store_->read([&](transaction& txn) {
    copy_all(txn, all);
    reply.revision = store_->base() + txn.number();
  });
  // Outside the gate, for decoding takes ten times as long as copying, and everybody else waits.
  if (!failed) failed = list_all(all, store_->data().path(), reply);
  reply.what = core::status::ok;
  answer(done, std::move(reply), std::move(failed));
}

void local_engine::glance(const core::glance_request& r, core::on<core::glance_reply> done) {
  core::glance_reply reply;
  if (refused_if_cut_off(reply, *store_)) return done(std::move(reply));
  auto failed = store_->read([&](transaction& txn) {
    reply.there.clear();
    for (const auto& id : r.whom) {
      if (auto record = find_session(txn, id)) reply.there.push_back(std::move(*record));
    }
    reply.what = core::status::ok;
  });
  answer(done, std::move(reply), std::move(failed));
}

}  // namespace holdfast::engines::local
