#include "engines/etcd/leaving.hpp"

#include "core/queue.hpp"
#include "core/replies.hpp"
#include "engines/etcd/requests.hpp"

#include <algorithm>
#include <utility>

/// A leave tells `ok` once the entry is certainly gone, whoever deleted it; a gate that is to be
/// moved is moved in the same transaction, so that no late enqueue comes in between.

namespace holdfast::engines::etcd {

using core::status;

namespace {

/// The last thing that a reply ends with.
std::uint64_t gate_in(const wire::etcd::txn_reply& reply) {
  if (reply.ops.empty() || reply.ops.back().range.all.empty()) return 1;
  return 1 + static_cast<std::uint64_t>(reply.ops.back().range.all[0].version);
}

}  // namespace

// ---- leaving ----

void leaving::refuse(core::reply why) {
  done_(core::reply_with<core::leave_reply>(std::move(why)));
}

void leaving::start() {
  if (request_.order.value == 0) return by_request();
  const auto key = store_->key_of(request_.order);
  if (key.empty()) return find();
  erase(key);
}

void leaving::find() {
  store_->servers().txn(requests::find(store_->keys(), request_.name, revision_of(request_.order)),
                        repeat::always, [self = shared_from_this()](const txn_result& r) {
                          if (r.what != status::ok || r.reply->ops.size() != 1) {
                            return self->refuse(core::reply_as(
                                r.what == status::ok ? status::unavailable : r.what, r));
                          }
                          const auto& found = r.reply->ops[0].range.all;
                          // Without one there is nothing to delete, but the gate may have to be
                          // moved.
                          self->erase(found.empty()
                                          ? self->store_->keys().queue(self->request_.name).key
                                          : std::string(found[0].key));
                        });
}

void leaving::erase(const std::string& key) {
  const auto& k = store_->keys();
  const auto part = k.parse_entry(key);
  const bool own = part && part->what.owner == request_.id && part->what.inc == request_.inc &&
                   part->name == request_.name;
  // Somebody else's entry is left alone: a key that nobody has stands in for it.
  const std::string target = own ? key : k.queue(request_.name).key;
  store_->servers().txn(
      requests::leave(k, request_, target, revision_of(request_.order)), repeat::never,
      [self = shared_from_this(), target](const txn_result& r) { self->answer(r, target); });
}

void leaving::answer(const txn_result& r, const std::string& key) {
  if (r.what != status::ok) return refuse(r);
  store_->forget(request_.id, request_.order);
  if (request_.move_gate) return conclude(*r.reply);
  if (r.reply->succeeded) return accept();
  if (r.reply->ops.size() != 1) return refuse({status::unknown, "the answer is in no known form"});
  const auto& session = r.reply->ops[0].range.all;
  const bool there =
      !session.empty() && session[0].create == static_cast<std::int64_t>(request_.inc);
  if (there) return accept();
  // Dead with its session, and in the way of whoever comes next.
  store_->sweep({key});
  gone();
}

void leaving::accept(std::uint64_t gate) {
  core::leave_reply r;
  r.what = status::ok;
  r.gate = gate;
  done_(std::move(r));
}

void leaving::gone() { refuse({status::gone, core::no_session_text(request_.id)}); }

void leaving::conclude(const wire::etcd::txn_reply& reply) {
  if (!reply.succeeded) return gone();
  accept(gate_in(reply));
}

void leaving::by_request() {
  store_->servers().txn(requests::leave_by_request(store_->keys(), request_), repeat::never,
                        [self = shared_from_this()](const txn_result& r) {
                          if (r.what != status::ok) return self->refuse(r);
                          if (!r.reply->succeeded) return self->conclude(*r.reply);
                          self->took_permits(*r.reply);
                        });
}

void leaving::took_permits(const wire::etcd::txn_reply& reply) {
  if (reply.ops.size() < 4) return refuse({status::unknown, "the answer is in no known form"});
  // The number of permits is a part of the key, and a leave does not know it.
  std::vector<std::string> own;
  for (const auto& kv : reply.ops[reply.ops.size() - 2].range.all) {
    const auto part = store_->keys().parse_entry(kv.key);
    if (part && part->what.owner == request_.id && part->what.inc == request_.inc &&
        part->what.request == request_.request) {
      own.emplace_back(kv.key);
    }
  }
  if (own.empty()) return conclude(reply);
  store_->servers().txn(requests::erase(own), repeat::always,
                        [self = shared_from_this(), gate = gate_in(reply)](const txn_result& r) {
                          if (r.what != status::ok)
                            return self->refuse(core::reply_as(status::unknown, r));
                          self->accept(gate);
                        });
}

// ---- confirming ----

void confirming::refuse(core::reply why) {
  done_(core::reply_with<core::queue_view>(std::move(why)));
}

void confirming::start() {
  store_->servers().txn(
      requests::confirm(store_->keys(), request_.id, request_.name, revision_of(request_.order)),
      repeat::always, [self = shared_from_this()](const txn_result& r) { self->took(r); });
}

void confirming::took(const txn_result& r) {
  if (r.what != status::ok) return refuse(r);
  if (r.reply->ops.size() != 2) {
    return refuse({status::unavailable, "the answer is in no known form"});
  }
  session_table self;
  self.add(store_->keys(), r.reply->ops[0].range);
  if (const auto why = refusal(self, request_.id, request_.inc)) {
    store_->forget(request_.id, request_.order);
    return refuse(*why);
  }
  entries_ =
      entry_table(store_->keys(), store_->servers().epoch().value.number, r.reply->ops[1].range);
  revision_ = r.reply->head.revision;
  if (!entries_.damage().empty()) {
    return refuse(
        {status::damaged, "the key " + entries_.damage() + " is not an entry of holdfast"});
  }
  const auto* own = entries_.find(request_.order);
  if (own == nullptr || own->what.owner != request_.id || own->what.inc != request_.inc) {
    return refuse({status::gone, "the entry is not there"});
  }
  mine_ = own->what.order;
  // Granted though all ahead were alive: nobody has to be looked at.
  if (!core::granted(entries_.entries(), mine_)) return look_at_sessions();
  core::queue_view v;
  v.what = status::ok;
  v.mine = mine_;
  done_(std::move(v));
}

void confirming::look_at_sessions() {
  store_->read_sessions(
      entries_.owners(), revision_,
      [self = shared_from_this()](core::reply r, const session_table& sessions) {
        if (r.what != status::ok) return self->refuse(r);
        auto& s = *self->store_;
        if (!sessions.damage().empty()) {
          return self->refuse({status::damaged, "the key " + sessions.damage() +
                                                    " is not a session record of holdfast"});
        }
        s.sweep(self->entries_.dead_keys(sessions));
        auto v = view_of(self->entries_.live(sessions), sessions, self->mine_);
        s.keep(self->request_.id, self->mine_, self->entries_.find(self->mine_)->key);
        s.keep_view(v, self->entries_, self->revision_);
        self->done_(std::move(v));
      });
}

}  // namespace holdfast::engines::etcd
