#include "engines/etcd/cluster.hpp"

#include "io/thread/random.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::etcd {

namespace {

using namespace std::chrono_literals;
using core::status;
using kind = io::grpc_outcome::kind;

constexpr duration pause_between_tries = 20ms;

// gRPC's status numbers.
constexpr unsigned invalid_argument = 3;
constexpr unsigned permission_denied = 7;
constexpr unsigned resource_exhausted = 8;
constexpr unsigned failed_precondition = 9;
constexpr unsigned out_of_range = 11;
constexpr unsigned unimplemented = 12;
constexpr unsigned unauthenticated = 16;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_full(std::string_view text) { return has(text, "database space exceeded"); }

/// So many commands behind its cluster that it takes no more for now.
bool lags(std::string_view text) { return has(text, "too many requests"); }

/// By this server alone, for its lag, its flags or its version, and before anything is done:
/// etcdserver/v3_server.go, api/v3rpc/key.go and interceptor.go.
bool is_refused_by_one(unsigned code, std::string_view text) {
  return code == unimplemented || lags(text) || has(text, "request is too large") ||
         has(text, "too many operations") || has(text, "not supported for learner");
}

}  // namespace

std::string advice(unsigned code, std::string_view text, const settings& set) {
  if (is_full(text)) {
    return "; it takes no writes until its history is compacted and defragmented and its NOSPACE "
           "alarm is disarmed: set --auto-compaction-mode=periodic "
           "--auto-compaction-retention=5m (holdfast doctor)";
  }
  if (code == permission_denied) {
    return "; user '" + set.user + "' needs a role that may read and write the prefix '" +
           set.prefix + "'";
  }
  if (has(text, "user name is empty")) {
    return "; authentication is enabled: name a user, etcd://USER@host?password_file=";
  }
  if (code == unimplemented) return "; is it etcd, 3.4 or later?";
  if (lags(text)) return "; it is overloaded";
  if (has(text, "request timed out") || has(text, "no leader")) return "; has it a leader?";
  return {};
}

// Errors of the apply phase and of the checks before it promise that nothing was done, but for want
// of space: txn_result::full. Everything else, time-outs and lost leaders most of all, may still be
// done: etcdserver/api/v3rpc/rpctypes.
status judge(unsigned code, std::string_view text) noexcept {
  switch (code) {
    case invalid_argument:
    case permission_denied:
    case unimplemented:
    case unauthenticated:
    case failed_precondition:
    case out_of_range:
      return status::unavailable;
    case resource_exhausted:
      // Also gRPC's own word for an answer that was too long, after the work was done.
      return has(text, "etcdserver:") ? status::unavailable : status::unknown;
    default:
      return status::unknown;
  }
}

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
      self->finish(e, {status::unavailable, "the store was closed", nullptr, false});
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
  const auto limit = std::min(e->deadline, clock::now() + set_.node_timeout);
  members_[index]->call(
      wire::etcd::txn_path, e->message, limit,
      [self = weak_from_this(), e, index, after = revision_](const io::grpc_outcome& o) {
        if (const auto c = self.lock()) return c->took(e, index, after, o);
        if (!std::exchange(e->finished, true)) {
          e->done({status::unknown, "the store was closed", nullptr, false});
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
      finish(e, {status::unknown, "etcd server " + members_[index]->name() + why, nullptr, false});
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
    return finish(e, {status::ok, {}, &*reply});
  }
  e->trouble = o.text;
  if (o.what == kind::answered) return took_refusal(e, index, o);
  if (o.what == kind::unknown) e->unknown = true;
  if (o.what == kind::not_sent) ++e->refused;
  again_or(e, e->unknown ? status::unknown : status::unavailable, std::string(o.text));
}

void cluster::took_refusal(const exchange_ptr& e, std::size_t index, const io::grpc_outcome& o) {
  // All of these come before anything is done.
  const bool logged_out = o.status == unauthenticated || has(o.text, "invalid auth token") ||
                          has(o.text, "revision of auth store is old");
  if (logged_out && !set_.user.empty() && e->refused < 2 * members_.size()) {
    ++e->refused;
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
    return finish(e, {.what = e->unknown ? status::unknown : verdict,
                      .text = std::move(text),
                      .compacted = o.status == out_of_range,
                      .full = is_full(o.text)});
  }
  e->unknown = true;
  move_from(index);
  again_or(e, status::unknown, std::move(text));
}

// Sends it once more when that is allowed: always when no server has looked at it.
void cluster::again_or(const exchange_ptr& e, status otherwise, std::string text) {
  if (e->outstanding > 0) return;
  const bool may = e->how == repeat::always || !e->unknown;
  if (closed_ || !may || clock::now() + pause_between_tries >= e->deadline) {
    return finish(e, {otherwise, std::move(text), nullptr, false});
  }
  if (e->refused < members_.size() && !e->unknown) return send(e);
  loop_->at(clock::now() + pause_between_tries, [self = weak_from_this(), e] {
    if (const auto c = self.lock()) return c->send(e);
    if (!std::exchange(e->finished, true)) {
      e->done({status::unavailable, "the store was closed", nullptr, false});
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

// A wrong URL is told at once. A cluster that was up is waited for: it may be restarting.
bool cluster::is_hopeless(const exchange& e) const {
  return !was_up_ && std::ranges::all_of(members_, [&e](const auto& m) {
    return m->failed_at() && *m->failed_at() >= e.began;
  });
}

void cluster::fail_waiting() {
  const auto now = clock::now();
  std::vector<exchange_ptr> late;
  std::erase_if(waiting_, [&](const exchange_ptr& e) {
    if (!closed_ && e->deadline > now && !is_hopeless(*e)) return false;
    late.push_back(e);
    return true;
  });
  for (const auto& e : late) {
    finish(e, {e->unknown ? status::unknown : status::unavailable,
               "no server is ready: " + troubles(), nullptr, false});
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
