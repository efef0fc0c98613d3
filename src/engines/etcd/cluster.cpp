#include "engines/etcd/cluster.hpp"

#include "engines/etcd/refusal.hpp"
#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>

/// Transactions: which server is asked, when another one is, and what a request waits for while
/// none is ready. Which servers are of the store is in cluster_epoch.cpp.

namespace holdfast::engines::etcd {

namespace {

using namespace std::chrono_literals;
using core::status;
using kind = io::grpc_outcome::kind;

constexpr duration pause_between_tries = 20ms;

}  // namespace

struct cluster::exchange {
  std::string message{};
  repeat how{};
  on_txn done{};
  time_point began{time_point::min()};
  time_point deadline{};
  std::size_t outstanding{};
  std::size_t refused{};  ///< How often it was not sent.
  bool unknown{};         ///< Some server may have done it.
  bool finished{};
  std::string trouble{};
};

cluster::cluster(settings s, std::shared_ptr<io::loop> l)
    : set_(std::move(s)), keys_(set_.prefix), loop_(std::move(l)) {}

void cluster::start() {
  for (std::size_t i = 0; i < set_.servers.size(); ++i) {
    members_.push_back(std::make_shared<member>(i, set_, weak_from_this()));
  }
  // Not all clients should lean on the same server.
  preferred_ = static_cast<std::size_t>(io::random_bits() % members_.size());
  loop_->post([self = shared_from_this()] {
    if (self->closed_) return;
    for (std::size_t i = 0; i < self->members_.size(); ++i) {
      self->members_[(self->preferred_ + i) % self->members_.size()]->start(self->loop_);
    }
  });
}

void cluster::close() {
  loop_->post([self = shared_from_this()] {
    self->closed_ = true;
    for (const auto& m : self->members_) m->close();
    for (const auto& e : std::exchange(self->waiting_, {})) {
      self->finish(e, {{status::unavailable, "the store was closed"}});
    }
  });
}

std::shared_ptr<member> cluster::preferred() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto at = (preferred_ + i) % members_.size();
    if (!members_[at]->in_use()) continue;
    preferred_ = at;
    return members_[at];
  }
  return {};
}

std::string cluster::troubles() const {
  std::string text;
  for (const auto& m : members_) {
    if (m->in_use() && epoch_known_) continue;
    text.append(text.empty() ? "" : "; ");
    text += m->in_use() ? m->without_epoch() : m->trouble();
  }
  return text;
}

// ---- transactions ----

void cluster::txn(const wire::etcd::txn& t, repeat how, on_txn done) {
  auto e = std::make_shared<exchange>();
  e->message = encode(t);
  e->how = how;
  e->done = std::move(done);
  // The servers may have been tried before the first question came.
  if (std::exchange(was_asked_, true)) e->began = clock::now();
  // A read has the time of two servers, for the first may be silent for all of its own.
  e->deadline = clock::now() + (how == repeat::always ? 2 * set_.node_timeout : set_.node_timeout);
  send(e);
}

void cluster::send(const exchange_ptr& e) {
  const auto to = epoch_known_ ? preferred() : nullptr;
  if (!to) return wait(e);
  send_to(e, preferred_);
}

void cluster::send_to(const exchange_ptr& e, std::size_t index) {
  ++e->outstanding;
  // What is known now goes with the question: only an answer to what is asked later is to be as
  // new.
  const auto limit = std::min(e->deadline, clock::now() + set_.node_timeout);
  members_[index]->call(
      wire::etcd::txn_path, e->message, limit,
      [self = weak_from_this(), e, index, after = revision_](const io::grpc_outcome& o) {
        if (const auto c = self.lock()) return c->took(e, index, after, o);
        if (!std::exchange(e->finished, true)) {
          e->done({{status::unknown, "the store was closed"}});
        }
      });
  if (e->how == repeat::hedged) hedge_later(e, index);
}

// How long one server may be silent before another is asked as well.
duration cluster::patience() const {
  return set_.node_timeout / static_cast<std::int64_t>(2 * members_.size());
}

// The next server is asked as well when this one is slow: any one's answer is the quorum's.
void cluster::hedge_later(const exchange_ptr& e, std::size_t index) {
  const auto next = (index + 1) % members_.size();
  // Round once: all have been asked.
  if (members_.size() == 1 || next == preferred_) return;
  loop_->at(clock::now() + patience(), [self = weak_from_this(), e, next] {
    const auto c = self.lock();
    if (!c || e->finished || c->closed_) return;
    if (c->members_[next]->in_use()) return c->send_to(e, next);
    c->hedge_later(e, next);
  });
}

void cluster::took(const exchange_ptr& e, std::size_t index, std::int64_t after,
                   const io::grpc_outcome& o) {
  --e->outstanding;
  // One that is in use and takes no calls is of no more use than one that is silent.
  if (o.what != kind::answered) move_from(index);
  if (e->finished) return;
  if (o.succeeded()) {
    const auto distrust = [&](const char* why) {
      finish(e, {{status::unknown, "etcd server " + members_[index]->name() + why}});
    };
    const auto reply = wire::etcd::decode_txn(o.message);
    if (!reply) return distrust(": its answer to a transaction is in no known form");
    if (reply->head.cluster != epoch_.value.cluster) {
      // Another cluster answers at this address: its revisions are not ours.
      doubt_epoch();
      return distrust(" belongs to another cluster than before; was it restored from a backup?");
    }
    if (reply->head.revision < after) {
      // What it has made then may bear a token that was given before.
      doubt_epoch();
      return distrust(
          " has forgotten what was done there; was it started with --force-new-cluster?");
    }
    revision_ = std::max(revision_, reply->head.revision);
    return finish(e, {{status::ok}, &*reply});
  }
  e->trouble = o.text;
  if (o.what == kind::answered) return took_refusal(e, index, o);
  if (o.what == kind::unknown) e->unknown = true;
  if (o.what == kind::not_sent) ++e->refused;
  again_or(e, e->unknown ? status::unknown : status::unavailable, std::string(o.text));
}

void cluster::took_refusal(const exchange_ptr& e, std::size_t index, const io::grpc_outcome& o) {
  // All of these come before anything is done.
  if (is_logged_out(o.status, o.text) && !set_.user.empty() && e->refused < 2 * members_.size()) {
    ++e->refused;
    // The new token may be refused as well, so the times are counted.
    members_[index]->log_in_again();
    if (e->outstanding == 0) send(e);
    return;
  }
  const bool by_one = is_refused_by_one(o.status, o.text);
  const auto verdict = by_one ? status::unavailable : judge(o.status, o.text);
  auto text = std::string(o.text) + advice(o.status, o.text, set_);
  if (by_one) {
    move_from(index);
    // One that lags catches up. What all refuse for another reason they refuse for good.
    if (++e->refused < members_.size() || lags(o.text)) {
      return again_or(e, e->unknown ? status::unknown : status::unavailable, std::move(text));
    }
  }
  if (verdict == status::unavailable) {
    // All servers refuse it.
    if (e->outstanding > 0) return;
    txn_result r{
        {e->unknown ? status::unknown : verdict, std::move(text), needs_operator(o, set_)}};
    r.compacted = o.status == grpc_status::out_of_range;
    r.full = is_full(o.text);
    return finish(e, std::move(r));
  }
  e->unknown = true;
  move_from(index);
  again_or(e, status::unknown, std::move(text));
}

// Sends it once more when that is allowed: always when no server has looked at it.
void cluster::again_or(const exchange_ptr& e, status otherwise, std::string text) {
  // A hedged one may still be answered by somebody else.
  if (e->outstanding > 0) return;
  const bool may = e->how == repeat::always || !e->unknown;
  if (closed_ || !may || clock::now() + pause_between_tries >= e->deadline) {
    return finish(e, {{otherwise, std::move(text)}});
  }
  if (e->refused < members_.size() && !e->unknown) return send(e);
  loop_->at(clock::now() + pause_between_tries, [self = weak_from_this(), e] {
    if (const auto c = self.lock()) return c->send(e);
    if (!std::exchange(e->finished, true)) {
      e->done({{status::unavailable, "the store was closed"}});
    }
  });
}

void cluster::finish(const exchange_ptr& e, txn_result r) {
  if (std::exchange(e->finished, true)) return;
  // A read leaves nothing behind, and whoever deletes what is dead takes all failures for one.
  if (e->how == repeat::always && r.what == status::unknown) r.what = status::unavailable;
  if (!closed_) tell_trouble(r.what == status::ok ? std::string() : r.text);
  std::exchange(e->done, nullptr)(r);
}

void cluster::tell_trouble(const std::string& text) {
  const io::held_mutex hold(mutex_);
  if (told_trouble_ != text) told_trouble_ = text;
}

std::string cluster::trouble_text() const {
  const io::held_mutex hold(mutex_);
  return told_trouble_;
}

// ---- while no server is ready ----

void cluster::wait(const exchange_ptr& e) {
  waiting_.push_back(e);
  loop_->at(e->deadline, [self = weak_from_this()] {
    if (const auto c = self.lock()) c->fail_waiting();
  });
  if (closed_) fail_waiting();
  if (is_hopeless(*e)) failed();
}

// A wrong URL is told at once, and so is a user who may not: a server that lags may refuse whom the
// others take already, and is not believed before them. Servers that were used are waited for: they
// may be restarting, and a person may put it right in time for those who hold locks.
bool cluster::is_hopeless(const exchange& e) const {
  return !was_used_ && std::ranges::all_of(members_, [&e](const auto& m) {
    return m->failed_at() && *m->failed_at() >= e.began;
  });
}

bool cluster::is_barred() const {
  return std::ranges::any_of(members_, [](const auto& m) { return m->is_barred(); }) &&
         std::ranges::all_of(members_, [](const auto& m) { return m->failed_at().has_value(); });
}

void cluster::fail_waiting() {
  const auto now = clock::now();
  // Gathered first: what they call may send again, and so wait again.
  std::vector<exchange_ptr> late;
  std::erase_if(waiting_, [&](const exchange_ptr& e) {
    if (!closed_ && e->deadline > now && !is_hopeless(*e)) return false;
    late.push_back(e);
    return true;
  });
  for (const auto& e : late) {
    finish(e, {{e->unknown ? status::unknown : status::unavailable,
                "no server is ready: " + troubles(), is_barred()}});
  }
}

void cluster::drain() {
  if (!epoch_known_) return;
  for (const auto& e : std::exchange(waiting_, {})) send(e);
}

void cluster::move_from(std::size_t index) {
  if (index != preferred_ || members_.size() == 1) return;
  preferred_ = (preferred_ + 1) % members_.size();
  if (const auto l = listener_.lock()) l->moved();
}

// ---- servers ----

void cluster::failed() {
  loop_->post([self = weak_from_this()] {
    if (const auto c = self.lock()) c->fail_waiting();
  });
}

}  // namespace holdfast::engines::etcd
