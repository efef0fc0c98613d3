#include "engines/etcd/enqueuing.hpp"

#include "core/conflict.hpp"
#include "core/queue.hpp"
#include "core/replies.hpp"
#include "engines/etcd/requests.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::engines::etcd {

namespace {

using core::status;

// Somebody else was faster so many times.
constexpr unsigned rounds_max = 64;

constexpr const char* unreadable_text = "the answer to an enqueue is in no known form";

std::string overtaken_text() {
  return "others were faster " + std::to_string(rounds_max) + " times in a row";
}

}  // namespace

enqueuing::enqueuing(std::shared_ptr<store> s, core::enqueue_request r,
                     core::on<core::queue_view> done)
    : store_(std::move(s)), request_(std::move(r)), done_(std::move(done)) {}

std::string enqueuing::own_key() const {
  return store_->keys().entry(request_.name, request_.how, request_.id, request_.inc,
                              request_.request);
}

token enqueuing::order_in(std::int64_t revision) const {
  return token_of(store_->servers().epoch().value.number, revision);
}

void enqueuing::refuse(core::reply why) {
  auto v = core::reply_with<core::queue_view>(std::move(why));
  v.gate = gate_;
  done_(std::move(v));
}

void enqueuing::not_made(const txn_result& r) {
  store_->take_back(own_key(), r,
                    [self = shared_from_this()](core::reply why) { self->refuse(std::move(why)); });
}

void enqueuing::grant(token mine) {
  if (mine.value == 0) return refuse({status::unknown, "its revision does not fit into a token"});
  store_->keep(request_.id, mine, own_key());
  core::queue_view v;
  v.what = status::ok;
  v.mine = mine;
  done_(std::move(v));
}

void enqueuing::answer(core::queue_view v) {
  if (v.what == status::ok || v.what == status::queued) {
    const auto* there = entries_.find(v.mine);
    store_->keep(request_.id, v.mine, there != nullptr ? there->key : own_key());
    store_->keep_view(v, entries_, revision_);
  }
  done_(std::move(v));
}

void enqueuing::start() {
  auto& servers = store_->servers();
  servers.txn(requests::enqueue(store_->keys(), servers.epoch().mod, request_), repeat::never,
              [self = shared_from_this()](const txn_result& r) { self->took(r); });
}

void enqueuing::took(const txn_result& r) {
  if (r.what != status::ok) return not_made(r);
  if (!r.reply->succeeded) return took_refused(*r.reply);
  mine_ = order_in(r.reply->head.revision);
  // What is not counted was made only where the queue was empty.
  if (!requests::counted(request_)) return grant(mine_);
  if (r.reply->ops.size() != 2) return refuse({status::unknown, unreadable_text});
  const std::uint64_t room = std::min<std::uint64_t>(
      core::waiters_max, request_.how.is_permits() ? request_.how.limit() : core::waiters_max);
  // The count has the dead, too: with more than may be there it has to be seen who lives.
  if (static_cast<std::uint64_t>(r.reply->ops[1].range.count) <= room) return grant(mine_);
  entered_ = true;
  revision_ = r.reply->head.revision;
  look_again();
}

void enqueuing::took_refused(const wire::etcd::txn_reply& reply) {
  if (reply.ops.size() != 3) return refuse({status::unavailable, unreadable_text});
  auto& servers = store_->servers();
  session_table self;
  self.add(store_->keys(), reply.ops[0].range);
  if (const auto why = refusal(self, request_.id, request_.inc)) {
    return refuse(*why);
  }
  const auto& epoch = reply.ops[1].range.all;
  if (epoch.size() != 1 || epoch[0].mod != servers.epoch().mod) {
    if (++rounds_ > rounds_max) return refuse({status::unavailable, "its cluster epoch changes"});
    // Nothing was made: the cluster's epoch is read anew before the next attempt is sent.
    servers.doubt_epoch();
    return start();
  }
  gate_ = self.find(request_.id)->gate;
  entries_ = entry_table(store_->keys(), servers.epoch().value.number, reply.ops[2].range);
  revision_ = reply.head.revision;
  asked_.clear();
  sessions_ = {};
  if (may_wait()) return enter();
  look_at_sessions();
}

// Nobody has to be looked at before it.
bool enqueuing::may_wait() const {
  return !request_.leave_if_busy && !request_.how.is_permits() && gate_ == request_.gate &&
         entries_.damage().empty() && core::fits(entries_.entries(), request_.how) &&
         entries_.find(request_.id, request_.inc, request_.request) == nullptr;
}

void enqueuing::enter() {
  if (++rounds_ > rounds_max) return refuse({status::unavailable, overtaken_text()});
  asked_ = entries_.owners();
  // Our own too, or its entry would not be found among the live ones.
  const auto own = std::ranges::lower_bound(asked_, request_.id);
  if (own == asked_.end() || *own != request_.id) asked_.insert(own, request_.id);
  // The others are read behind it, in the same revision.
  if (asked_.size() > requests::sessions_max) asked_.resize(requests::sessions_max);
  auto& servers = store_->servers();
  servers.txn(requests::enter(store_->keys(), servers.epoch().mod, request_, asked_), repeat::never,
              [self = shared_from_this()](const txn_result& r) { self->took_place(r); });
}

void enqueuing::took_place(const txn_result& r) {
  if (r.what != status::ok) return not_made(r);
  if (!r.reply->succeeded) return took_refused(*r.reply);
  const auto& ops = r.reply->ops;
  if (ops.empty() || ops[0].nested.size() != 1 || ops[0].nested[0].ops.empty()) {
    return refuse({status::unknown, unreadable_text});
  }
  const auto& inner = ops[0].nested[0];
  revision_ = r.reply->head.revision;
  // Else somebody came meanwhile with whom it does not agree, or this very request.
  entered_ = inner.succeeded;
  if (entered_) mine_ = order_in(revision_);
  const auto epoch = store_->servers().epoch().value.number;
  entries_ = entry_table(store_->keys(), epoch, inner.ops.back().range);
  for (std::size_t i = 1; i < ops.size(); ++i) sessions_.add(store_->keys(), ops[i].range);
  look_at_sessions();
}

void enqueuing::look_again() {
  // As it was when the entry was made: whoever came later is behind it.
  store_->servers().txn(requests::queue(store_->keys(), request_.name, revision_), repeat::always,
                        [self = shared_from_this()](const txn_result& r) {
                          if (r.what != status::ok || r.reply->ops.size() != 1) {
                            // The entry is there, and who is ahead of it is not known.
                            return self->refuse(core::reply_as(status::unknown, r));
                          }
                          const auto epoch = self->store_->servers().epoch().value.number;
                          self->entries_ =
                              entry_table(self->store_->keys(), epoch, r.reply->ops[0].range);
                          self->look_at_sessions();
                        });
}

void enqueuing::look_at_sessions() {
  // Those of newcomers, and those that did not fit into the transaction.
  std::vector<session_id> missing;
  std::ranges::set_difference(entries_.owners(), asked_, std::back_inserter(missing));
  store_->read_sessions(std::move(missing), revision_,
                        [self = shared_from_this()](core::reply r, const session_table& read) {
                          const auto otherwise =
                              self->entered_ ? status::unknown : status::unavailable;
                          if (r.what != status::ok) {
                            return self->refuse(core::reply_as(otherwise, std::move(r)));
                          }
                          self->sessions_.add(read);
                          self->decide(self->sessions_);
                        });
}

void enqueuing::decide(const session_table& sessions) {
  // Told as a refusal, an entry that was made would stay in everybody's way.
  const auto damaged = entered_ ? status::unknown : status::damaged;
  if (!entries_.damage().empty()) {
    return refuse({damaged, "the key " + entries_.damage() + " is not an entry of holdfast"});
  }
  if (!sessions.damage().empty()) {
    return refuse(
        {damaged, "the key " + sessions.damage() + " is not a session record of holdfast"});
  }
  store_->sweep(entries_.dead_keys(sessions));
  if (entered_) return decide_entered(sessions);
  decide_absent(sessions);
}

void enqueuing::decide_entered(const session_table& sessions) {
  auto live = entries_.live(sessions);
  // The transaction that made the entry saw our session alive in this very revision.
  if (mine_.value == 0 ||
      !std::ranges::any_of(live, [&](const core::entry& e) { return e.order == mine_; })) {
    return refuse({status::unknown, "the entry is not where it was made"});
  }
  // How many there are was not known when it was made.
  if (live.size() > core::waiters_max) return undo();
  answer(view_of(live, sessions, mine_));
}

void enqueuing::undo() {
  store_->servers().txn(requests::erase(std::vector{own_key()}), repeat::always,
                        [self = shared_from_this()](const txn_result& r) {
                          if (r.what != status::ok)
                            return self->refuse(core::reply_as(status::unknown, r));
                          self->refuse({status::too_many, core::too_many_text()});
                        });
}

void enqueuing::decide_absent(const session_table& sessions) {
  auto live = entries_.live(sessions);
  // Before the gate: it shuts out what comes late, and this one is there.
  if (const auto* own = entries_.find(request_.id, request_.inc, request_.request)) {
    return answer(view_of(live, sessions, own->what.order));
  }
  if (gate_ != request_.gate) return refuse({status::stale_gate, "an earlier gate"});
  if (!core::fits(live, request_.how)) {
    const mode there = live.front().how;
    live.push_back({.order = token_max, .owner = request_.id, .inc = request_.inc});
    return done_(core::conflict(view_of(live, sessions, token_max), there, request_.how));
  }
  append(std::move(live), sessions);
}

void enqueuing::append(std::vector<core::entry> live, const session_table& sessions) {
  // As it would be, to know what it would be granted.
  live.push_back({.order = token{token_max.value},
                  .owner = request_.id,
                  .inc = request_.inc,
                  .request = request_.request,
                  .how = request_.how,
                  .since = request_.since});
  auto v = view_of(live, sessions, token_max);
  if (v.what == status::queued && request_.leave_if_busy) {
    v.what = status::busy;
    v.mine = {};
    v.targets.clear();
    return done_(std::move(v));
  }
  if (live.size() > core::waiters_max) return refuse({status::too_many, core::too_many_text()});
  if (++rounds_ > rounds_max) return refuse({status::unavailable, overtaken_text()});
  auto& servers = store_->servers();
  servers.txn(requests::append(store_->keys(), servers.epoch().mod, request_, revision_),
              repeat::never, [self = shared_from_this(), v = std::move(v)](const txn_result& r) {
                if (r.what != status::ok) return self->not_made(r);
                if (!r.reply->succeeded) return self->took_refused(*r.reply);
                auto made = v;
                made.mine = self->order_in(r.reply->head.revision);
                if (made.mine.value == 0) {
                  return self->refuse({status::unknown, "its revision does not fit into a token"});
                }
                self->answer(std::move(made));
              });
}

}  // namespace holdfast::engines::etcd
