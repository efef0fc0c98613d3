#include "engines/etcd/cluster.hpp"

#include "engines/etcd/refusal.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>

/// Which servers are those of the store: the epoch record is read at each before it is used.

namespace holdfast::engines::etcd {

namespace {

using namespace std::chrono_literals;
using core::status;

constexpr duration prove_again_after = 100ms;
constexpr const char* mixed_up =
    "it belongs to another cluster than the others of this URL, and another program may get the "
    "same locks there";

member::refusal how_long(const io::grpc_outcome& o, const settings& set) {
  return needs_operator(o, set) ? member::refusal::for_good : member::refusal::passing;
}

}  // namespace

void cluster::came_up(std::size_t index) {
  if (closed_) return;
  const auto& m = members_[index];
  if (!epoch_known_ && !m->was_foreign()) return learn_epoch(index);
  if (!m->proven()) return prove(index);
  drain();
  if (const auto l = listener_.lock()) l->moved();
}

bool cluster::has_any_in_use() const {
  return std::ranges::any_of(members_, [](const auto& m) { return m->in_use(); });
}

// The ids of clusters do not tell: servers that were started apart from each other, with etcd's
// defaults, all have the same.
void cluster::prove(std::size_t index) {
  const auto& m = members_[index];
  const epoch_question q{.index = index, .logins = m->logins(), .after = revision_};
  const wire::etcd::txn t{.then = {{wire::etcd::range{.keys = {keys_.epoch()}}}}};
  m->call(wire::etcd::txn_path, encode(t), clock::now() + set_.node_timeout,
          [self = weak_from_this(), q](const io::grpc_outcome& o) {
            const auto c = self.lock();
            if (c && c->is_to_prove(q)) c->took_proof(q, o);
          });
}

// Otherwise it is asked again when it is ready.
bool cluster::is_to_prove(const epoch_question& q) const {
  const auto& m = members_[q.index];
  return !closed_ && m->ready() && !m->proven() && m->logins() == q.logins;
}

void cluster::prove_later(const epoch_question& q) {
  loop_->at(clock::now() + prove_again_after, [self = weak_from_this(), q] {
    const auto c = self.lock();
    if (c && c->is_to_prove(q)) c->prove(q.index);
  });
}

void cluster::took_proof(const epoch_question& q, const io::grpc_outcome& o) {
  const auto& m = members_[q.index];
  if (!o.succeeded()) {
    const bool refused =
        o.what == io::grpc_outcome::kind::answered && judge(o.status, o.text) != status::unknown;
    if (!refused) return prove_later(q);
    return m->refuse(
        "reading the cluster epoch failed: " + std::string(o.text) + advice(o.status, o.text, set_),
        how_long(o, set_));
  }
  const auto reply = wire::etcd::decode_txn(o.message);
  if (!reply || reply->ops.size() != 1) {
    return m->refuse("its answer about the cluster epoch is in no known form");
  }
  const auto& found = reply->ops[0].range.all;
  const auto value = found.size() == 1 ? decode_epoch(found[0].value) : std::nullopt;
  const bool is_ours = value && value->store == newest_.store;
  const bool set_back = reply->head.revision < q.after || (is_ours && has_lost_epoch(*value));
  if (!is_ours || m->cluster() != newest_.cluster || set_back) return is_another(q.index, is_ours);
  m->prove();
  if (!epoch_known_) return doubt_epoch();
  drain();
  if (const auto l = listener_.lock()) l->moved();
}

// It is of no use beside those that are in use. Without them it is the cluster from here on, but
// for one that was no part of the store while others were: those may come back.
void cluster::is_another(std::size_t index, bool of_our_store) {
  const auto& m = members_[index];
  if (has_any_in_use() || (m->was_foreign() && !of_our_store)) {
    return m->refuse(mixed_up, member::refusal::foreign);
  }
  learn_epoch(index);
}

void cluster::went_down(std::size_t index) {
  epoch_asked_ = false;
  if (index == preferred_) {
    if (const auto l = listener_.lock()) l->moved();
  }
  if (!epoch_known_) doubt_epoch();
}

core::store_id cluster::identity() const {
  const io::held_mutex hold(identity_mutex_);
  return identity_;
}

// One that has yet to show whose it is does so beside those that have.
bool cluster::may_tell_epoch(std::size_t index) const {
  const auto& m = members_[index];
  return m->in_use() || (m->ready() && !m->was_foreign() && !has_any_in_use());
}

void cluster::doubt_epoch() {
  epoch_known_ = false;
  if (epoch_asked_) return;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto at = (preferred_ + i) % members_.size();
    if (may_tell_epoch(at)) return learn_epoch(at);
  }
}

void cluster::learn_epoch(std::size_t index) {
  epoch_known_ = false;
  if (std::exchange(epoch_asked_, true)) return;
  const epoch_question q{.index = index, .number = ++epoch_questions_};
  // Whoever comes first to an empty prefix names the store.
  const cluster_epoch first{
      .number = 1, .cluster = members_[index]->cluster(), .store = {io::random_session_id()}};
  ask_epoch(q, {.compares = {{.keys = {keys_.epoch()}}},
                .then = {{wire::etcd::put{keys_.epoch(), encode(first)}},
                         {wire::etcd::range{.keys = {keys_.epoch()}}}},
                .otherwise = {{wire::etcd::range{.keys = {keys_.epoch()}}}}});
  ask_another_later(index);
}

// One that is cut off from its cluster goes on telling its version, and nothing else.
void cluster::ask_another_later(std::size_t index) {
  if (members_.size() == 1) return;
  loop_->at(clock::now() + patience(), [self = weak_from_this(), index, n = epoch_questions_] {
    const auto c = self.lock();
    if (!c || c->closed_ || !c->epoch_asked_ || n != c->epoch_questions_) return;
    for (std::size_t i = 1; i < c->members_.size(); ++i) {
      const auto next = (index + i) % c->members_.size();
      if (!c->may_tell_epoch(next)) continue;
      c->epoch_asked_ = false;
      return c->learn_epoch(next);
    }
    c->ask_another_later(index);
  });
}

// A history that was set back may have grown beyond what is known of it since.
bool cluster::has_lost_epoch(const cluster_epoch& e) const {
  return e.store == newest_.store && e.number < newest_.number;
}

// A backup that is restored a second time has the epoch that was raised the first time, and a
// history that was set back under one id has the last one, or an older one.
bool cluster::was_given_before(const cluster_epoch& e, bool set_back) const {
  const bool is_another_one = set_back || e.cluster != newest_.cluster;
  return e.store == newest_.store && is_another_one && e.number <= newest_.number;
}

// The identity stays when the cluster is another one: its tokens go on growing.
void cluster::raise_epoch(const epoch_question& q, bool set_back) {
  cluster_epoch next = epoch_.value;
  if (was_given_before(next, set_back)) next.number = newest_.number;
  ++next.number;
  next.cluster = members_[q.index]->cluster();
  if (next.number > epoch_max) {
    return refuse_epoch(q, "its cluster epoch cannot grow any more", member::refusal::for_good);
  }
  // By compare: of several clients that see the loss one counts up, and the others read what it
  // wrote.
  ask_epoch(q, {.compares = {{.keys = {keys_.epoch()},
                              .what = wire::etcd::compare::target::mod,
                              .number = epoch_.mod}},
                .then = {{wire::etcd::put{keys_.epoch(), encode(next)}},
                         {wire::etcd::range{.keys = {keys_.epoch()}}}},
                .otherwise = {{wire::etcd::range{.keys = {keys_.epoch()}}}}});
}

void cluster::ask_epoch(epoch_question q, const wire::etcd::txn& t) {
  q.logins = members_[q.index]->logins();
  q.after = revision_;
  members_[q.index]->call(wire::etcd::txn_path, encode(t), clock::now() + set_.node_timeout,
                          [self = weak_from_this(), q](const io::grpc_outcome& o) {
                            const auto c = self.lock();
                            if (c && !c->closed_ && c->epoch_asked_) c->took_epoch(q, o);
                          });
}

void cluster::refuse_epoch(const epoch_question& q, std::string why, member::refusal how) {
  // Of an older question: the answer to the newer one is still to come.
  if (q.number == epoch_questions_) epoch_asked_ = false;
  // Of an older login: it says nothing of who is ready again since.
  const bool is_ready_anew = members_[q.index]->ready() && members_[q.index]->logins() != q.logins;
  if (!is_ready_anew) members_[q.index]->refuse(std::move(why), how);
  // One that was not ready has not gone down now, and others may be.
  doubt_epoch();
}

void cluster::took_epoch(const epoch_question& q, const io::grpc_outcome& o) {
  if (!o.succeeded()) {
    return refuse_epoch(
        q,
        "reading the cluster epoch failed: " + std::string(o.text) + advice(o.status, o.text, set_),
        how_long(o, set_));
  }
  const auto reply = wire::etcd::decode_txn(o.message);
  if (!reply || reply->ops.empty() || reply->ops.back().range.all.size() != 1) {
    return refuse_epoch(q, "its answer about the cluster epoch is in no known form");
  }
  const auto& kv = reply->ops.back().range.all.front();
  const auto value = decode_epoch(kv.value);
  if (!value) {
    return refuse_epoch(q,
                        "the key '" + keys_.epoch() +
                            "' is not of holdfast, or of a newer one; use another prefix (the "
                            "part of the URL after the servers)",
                        member::refusal::for_good);
  }
  const bool set_back = reply->head.revision < q.after || has_lost_epoch(*value);
  epoch_ = {*value, kv.mod};
  if (value->cluster != members_[q.index]->cluster() || was_given_before(*value, set_back)) {
    return raise_epoch(q, set_back);
  }
  const bool is_as_before =
      !set_back && value->store == newest_.store && value->cluster == newest_.cluster;
  // Another history has revisions of its own.
  revision_ = is_as_before ? std::max(revision_, reply->head.revision) : reply->head.revision;
  newest_ = *value;
  {
    const io::held_mutex hold(identity_mutex_);
    identity_ = value->store;
  }
  epoch_asked_ = false;
  epoch_known_ = was_used_ = true;
  // It has shown that it answers for the cluster.
  preferred_ = q.index;
  if (!is_as_before) {
    // What they have shown was the epoch before.
    for (const auto& m : members_) m->doubt();
  }
  members_[q.index]->prove();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->ready() && !members_[i]->proven()) prove(i);
  }
  drain();
  if (const auto l = listener_.lock()) l->moved();
}

}  // namespace holdfast::engines::etcd
