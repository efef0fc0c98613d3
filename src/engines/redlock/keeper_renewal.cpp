#include "core/assert.hpp"
#include "engines/redlock/commands.hpp"
#include "engines/redlock/keeper.hpp"
#include "engines/redlock/replies.hpp"
#include "io/thread/prefetch.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using core::status;
using core::redlock::fault;
using core::redlock::for_each;
using core::redlock::renewal;
using core::redlock::resend_after;

/// The handle and the two texts of a key.
constexpr std::size_t entry_read_bytes =
    sizeof(renewal::handle) + sizeof(placed_key::name) + sizeof(placed_key::value);

}  // namespace

/// The answers of one batch, by node.
class keeper::batch_receiver final : public io::redis_receiver {
 public:
  batch_receiver(std::weak_ptr<keeper> k, renewal::batch b, time_point sent)
      : keeper_(std::move(k)), batch_(std::move(b)), sent_(sent) {}
  void answered(std::uint64_t tag, const io::redis_answer& a) override {
    const auto k = keeper_.lock();
    if (k) k->batch_answered(batch_, static_cast<node_index>(tag), a, sent_);
  }
  void answered_late(std::uint64_t tag, const wire::reply* r, time_point at) override {
    if (r == nullptr) return;
    io::redis_answer a;
    a.what = io::redis_answer::outcome::reply;
    a.reply = r;
    a.at = at;
    answered(tag, a);
  }

 private:
  const std::weak_ptr<keeper> keeper_;
  const renewal::batch batch_;
  const time_point sent_;
};

void keeper::beat(std::uint64_t attempt, core::on<core::beat_reply> done) {
  jobs after;
  {
    const io::held_mutex hold(mutex_);
    core::beat_reply r;
    r.what = denied_ ? status::denied : status::gone;
    if (denied_ || closed_ || !renewal_) {
      after.push_back([done = std::move(done), r] { done(r); });
    } else {
      const time_point now = clock::now();
      end_old_beats(now, after);
      beats_.push_back({attempt, now, std::move(done)});
      carry_out(renewal_->beat(now), after);
    }
  }
  run(after);
}

/// The renewal machine heard something.
void keeper::carry_out(renewal::step s, jobs& after) {
  HOLDFAST_ASSERT(renewal_.has_value());
  for (const auto& b : s.send) send_batch(b);
  for (const auto& r : s.repairs) send_repair(r, after);
  for_each(s.reopen, [&](node_index i) {
    mutex_.held_by_caller();
    reopen(i, false, after);
  });
  for (const auto& h : s.shortened) {
    if (const entry* e = find(h); e != nullptr && e->listener) {
      after.push_back([who = e->listener] { who->shortened(); });
    }
  }
  if (s.denied) {
    HOLDFAST_ASSERT(!denied_);
    denied_ = true;
    end_beats(status::denied, denied_text_, after);
  }
  const std::string away = s.lost.empty() ? std::string() : cluster_->silent();
  for (const auto& l : s.lost) lose(l, away, after);
  settle_beats(after);
  wake_at(s.wake);
  // Of those only the first: it is the oldest.
  if (!beats_.empty()) wake_at(beats_.front().since + draft_.ttl);
}

keeper::entry* keeper::find(const renewal::handle& h) noexcept {
  if (h.slot >= by_slot_.size()) return nullptr;
  entry* const e = by_slot_[h.slot];
  return e != nullptr && e->handle == h ? e : nullptr;
}

/// Before it is erased. The slot of a lost one may be another's by now.
void keeper::forget(const entry& e) noexcept {
  const std::size_t slot = e.handle.slot;
  if (slot < by_slot_.size() && by_slot_[slot] == &e) by_slot_[slot] = nullptr;
}

bool keeper::is_used_up(std::uint64_t request) const {
  const io::held_mutex hold(mutex_);
  const entry* e = entries_.find(request);
  if (e == nullptr) return false;
  return e->used_up || (e->is == state::held && renewal_->is_used_up(e->handle));
}

void keeper::lose(const renewal::loss& l, const std::string& away, jobs& after) {
  entry* e = find(l.lock);
  if (e == nullptr || e->is != state::held) return;
  e->is = state::lost;
  e->used_up = l.used_up;
  core::reply why;
  why.what = l.why == errc::denied ? status::denied : status::gone;
  why.text = l.why == errc::denied
                 ? "the session was denied by an operator"
                 : "too few nodes still have the lock: their keys are gone or were not extended in "
                   "time";
  const std::string limit = l.used_up ? cluster_->set().extension_limit() : "";
  for (const std::string& more : {limit, away}) {
    if (l.why != errc::denied && !more.empty()) why.text += "; " + more;
  }
  if (e->listener) after.push_back([who = e->listener, why] { who->lost(why); });
  after.push_back([all = waiters_, name = e->name] { all->lost(name); });
}

/// Of a hundred thousand locks none is in a cache: they are all asked for before any is waited for.
std::vector<held_key> keeper::keys_of(const renewal::batch& b) {
  for (const auto& h : b.locks) {
    HOLDFAST_ASSERT(h.slot < by_slot_.size() && by_slot_[h.slot] != nullptr);
    io::prefetch(reinterpret_cast<std::uintptr_t>(&by_slot_[h.slot]->handle), entry_read_bytes);
  }
  std::vector<held_key> keys;
  keys.reserve(b.locks.size());
  for (const auto& h : b.locks) {
    const entry* e = find(h);
    HOLDFAST_ASSERT(e != nullptr);
    keys.push_back({e->key.name, e->key.value});
    io::prefetch(reinterpret_cast<std::uintptr_t>(e->key.value.data()), e->key.value.size());
  }
  return keys;
}

/// The next node's text of a batch into batch_. Only a nonce makes it another node's.
void keeper::write_batch(std::string_view nonce, const std::vector<held_key>& locks) {
  const bool tokens = cluster_->set().tokens;
  if (!batch_.empty()) {
    if (!tokens) return;
    if (nonce.size() == nonce_size_) {
      batch_.replace(nonce_at_, nonce_size_, nonce);
      return;
    }
    batch_.clear();
  }
  if (tokens) {
    nonce_at_ = commands::renew(batch_, draft_.id, draft_.ttl, nonce, locks);
    nonce_size_ = nonce.size();
  } else if (locks.empty()) {
    commands::time(batch_);
  } else {
    commands::renew_plain(batch_, draft_.ttl, locks);
  }
}

/// One script of up to a hundred keys to every node that may extend.
void keeper::send_batch(const renewal::batch& b) {
  const time_point now = clock::now();
  last_renewal_ = now;
  const auto voting = cluster_->now_voting();
  const std::vector<held_key> locks = keys_of(b);
  io::redis_connection::command c;
  c.deadline = now + resend_after(draft_.ttl);
  c.receiver = std::make_shared<batch_receiver>(weak_from_this(), b, now);
  c.may_fill = true;
  batch_.clear();
  for_each(voting->keepers, [&](node_index i) {
    mutex_.held_by_caller();
    write_batch(voting->nonces[i], locks);
    // One that cannot be sent is like one that is not answered.
    c.bytes = batch_;
    c.tag = i;
    (void)cluster_->send(i, c).has_value();
  });
}

void keeper::batch_answered(const renewal::batch& b, node_index i, const io::redis_answer& a,
                            time_point sent) {
  if (a.reply == nullptr) {
    if (a.what == io::redis_answer::outcome::unknown)
      cluster_->heed(i, cluster::duty::renewal, fault::silent, nullptr);
    return;
  }
  const auto got = read_batch(b, *a.reply);
  cluster_->heed(i, cluster::duty::renewal, got.why(), a.reply);
  if (!got) {
    if (core::redlock::action_on(got.why()).look_again) cluster_->doubted(i);
    return;
  }
  if (got->time) cluster_->on_time(i, *got->time, sent, a.at);
  jobs after;
  {
    const io::held_mutex hold(mutex_);
    if (closed_ || !renewal_) return;
    if (got->answer.session == renewal::session_there::denied) {
      denied_text_ = replies::denial_text(*a.reply);
    }
    carry_out(renewal_->answered(b.number, i, got->answer, a.at), after);
  }
  run(after);
}

reading<renewed> keeper::read_batch(const renewal::batch& b, const wire::reply& r) const {
  if (cluster_->set().tokens) return replies::renew(r, b.locks.size());
  if (!b.locks.empty()) return replies::renew_plain(r, b.locks.size());
  const auto at = replies::time(r);
  if (!at) return at.why();
  return renewed{.answer = {}, .time = *at};
}

/// The answer of one repair.
class keeper::repair_receiver final : public io::redis_receiver {
 public:
  repair_receiver(std::weak_ptr<keeper> k, const renewal::repair& what)
      : keeper_(std::move(k)), what_(what), sent_(clock::now()) {}
  void answered(std::uint64_t /*tag*/, const io::redis_answer& a) override {
    if (const auto k = keeper_.lock()) k->repaired(what_, a.reply, sent_, a.at);
  }
  time_point sent() const noexcept { return sent_; }

 private:
  const std::weak_ptr<keeper> keeper_;
  const renewal::repair what_;
  const time_point sent_;
};

/// Under the mutex, so that a release of the same key is sent behind it.
void keeper::send_repair(const renewal::repair& r, jobs& after) {
  entry* e = find(r.lock);
  if (e == nullptr) return;
  const auto voting = cluster_->now_voting();
  const node_index i = r.node;
  std::string bytes;
  if (cluster_->set().tokens) {
    commands::repair(bytes, e->key.name, e->key.value, draft_.id, draft_.ttl, r.at_least,
                     voting->nonces[i]);
  } else {
    commands::set_plain(bytes, e->key.name, e->key.value, draft_.ttl);
  }
  const auto receiver = std::make_shared<repair_receiver>(weak_from_this(), r);
  const time_point sent = receiver->sent();
  io::redis_connection::command c;
  c.bytes = bytes;
  c.deadline = sent + resend_after(draft_.ttl);
  c.receiver = receiver;
  const auto put = cluster_->worth_asking(voting->voters, timeout_).has(i)
                       ? cluster_->send(i, c)
                       : result<std::uint64_t>(errc::unavailable);
  if (!put) {
    after.push_back(
        [self = shared_from_this(), r, sent] { self->repaired(r, nullptr, sent, sent); });
    return;
  }
  // It may come late like an acquire. So may one that was sent before, on another connection, and
  // never answered: then no release is known to be behind both, whatever the answers say. `twice`
  // keeps the release going at this node until the older one cannot come any more; without it "it
  // is deleted" would end it, and the older one set a key that nobody releases.
  const bool is_first =
      !e->key.asked.has(i) || e->key.answered.has(i) || e->key.connections[i] == *put;
  if (!is_first) {
    e->key.twice.add(i);
    // What went before was sent then, or earlier.
    e->key.late_until = e->key.last_sent + draft_.ttl;
  }
  e->key.asked.add(i);
  e->key.answered.remove(i);
  e->key.connections[i] = *put;
  e->key.last_sent = sent;
}

void keeper::repaired(const renewal::repair& what, const wire::reply* r, time_point sent,
                      time_point at) {
  bool done = false;
  if (r != nullptr && cluster_->set().tokens) {
    const auto got = replies::repair(*r);
    done = got.vote.what == core::redlock::vote::granted &&
           (!got.time || cluster_->on_time(what.node, *got.time, sent, at));
  } else if (r != nullptr) {
    done = replies::set_plain(*r).what == core::redlock::vote::granted;
  }
  jobs after;
  {
    const io::held_mutex hold(mutex_);
    if (closed_ || !renewal_) return;
    entry* const found = find(what.lock);
    if (found != nullptr && r != nullptr) found->key.answered.add(what.node);
    carry_out(renewal_->repaired(what.number, done, at), after);
  }
  run(after);
}

/// The answer of one record that is written again.
class keeper::record_receiver final : public io::redis_receiver {
 public:
  record_receiver(std::weak_ptr<keeper> k, bool again) : keeper_(std::move(k)), again_(again) {}
  void answered(std::uint64_t tag, const io::redis_answer& a) override {
    const auto k = keeper_.lock();
    if (k) k->recorded(static_cast<node_index>(tag), a.reply, again_);
  }

 private:
  const std::weak_ptr<keeper> keeper_;
  const bool again_;  ///< The node did not know the script before.
};

/// Under the mutex, so that the close of the session is sent behind it: the session's record again
/// on a node that lost it.
void keeper::reopen(node_index i, bool again, jobs& after) {
  const auto voting = cluster_->now_voting();
  if (!cluster_->set().tokens || !voting->keepers.has(i)) {
    return carry_out(renewal_->reopened(i, !cluster_->set().tokens, clock::now()), after);
  }
  const std::string bytes = record_bytes(i, *voting);
  io::redis_connection::command c;
  c.bytes = bytes;
  c.deadline = clock::now() + resend_after(draft_.ttl);
  c.receiver = std::make_shared<record_receiver>(weak_from_this(), again);
  c.may_fill = true;
  c.tag = i;
  if (!cluster_->send(i, c)) carry_out(renewal_->reopened(i, false, clock::now()), after);
}

void keeper::recorded(node_index i, const wire::reply* r, bool again) {
  const fault why = r == nullptr ? fault::silent : replies::open(*r);
  const bool forgot = why == fault::script_missing;
  if (forgot) cluster_->load_again(i);
  jobs after;
  {
    const io::held_mutex hold(mutex_);
    if (closed_ || !renewal_) return;  // The record is being deleted.
    if (forgot && !again) {
      reopen(i, true, after);
    } else {
      carry_out(renewal_->reopened(i, why == fault::none, clock::now()), after);
    }
  }
  run(after);
}

void keeper::unrecorded(node_set where) {
  jobs after;
  {
    const io::held_mutex hold(mutex_);
    if (closed_ || denied_ || !renewal_) return;
    for_each(where, [&](node_index i) {
      mutex_.held_by_caller();
      carry_out(renewal_->session_missing(i), after);
    });
  }
  run(after);
}

// ---- the session's own beats ----

/// Those that a majority has confirmed.
void keeper::settle_beats(jobs& after) {
  const time_point until = renewal_->session_until();
  const auto confirmed = [&](const waiting_beat& b) {
    return b.since + core::usable(draft_.ttl) <= until;
  };
  for (waiting_beat& b : beats_) {
    if (!confirmed(b)) continue;
    core::beat_reply ok;
    ok.what = status::ok;
    ok.proves = b.attempt;
    after.push_back([done = std::exchange(b.done, {}), ok] { done(ok); });
  }
  std::erase_if(beats_, [](const waiting_beat& b) { return !b.done; });
}

void keeper::end_beats(status what, const std::string& text, jobs& after) {
  for (waiting_beat& b : beats_) {
    core::beat_reply r;
    r.what = what;
    r.text = text;
    after.push_back([done = std::move(b.done), r] { done(r); });
  }
  beats_.clear();
}

/// Those that nobody answered for a whole ttl.
void keeper::end_old_beats(time_point now, jobs& after) {
  for (waiting_beat& b : beats_) {
    if (b.since + draft_.ttl > now) continue;
    core::beat_reply r;
    r.what = status::unknown;
    r.text = "too few nodes answered";
    after.push_back([done = std::exchange(b.done, {}), r] { done(r); });
  }
  std::erase_if(beats_, [](const waiting_beat& b) { return !b.done; });
}

void keeper::advance(const std::function<renewal::step(renewal&)>& event) {
  jobs after;
  {
    const io::held_mutex hold(mutex_);
    if (closed_ || !renewal_) return;
    carry_out(event(*renewal_), after);
  }
  run(after);
}

void keeper::wake_at(time_point when) {
  if (!closed_) timer_.no_later_than(when, *this, &keeper::tick);
}

void keeper::tick() {
  jobs after;
  {
    const io::held_mutex hold(mutex_);
    if (closed_ || !renewal_) return;
    const time_point now = clock::now();
    end_old_beats(now, after);
    carry_out(renewal_->tick(now), after);
  }
  run(after);
}

}  // namespace holdfast::engines::redlock
