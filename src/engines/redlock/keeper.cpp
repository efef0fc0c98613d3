#include "engines/redlock/keeper.hpp"

#include "core/assert.hpp"
#include "core/replies.hpp"
#include "engines/redlock/holder.hpp"
#include "engines/redlock/keys.hpp"
#include "engines/redlock/releasing.hpp"
#include "io/thread/recycled.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using core::queue_view;
using core::reply_with;
using core::status;

/// Between two questions of a session about who has a lock that it did not get.
constexpr duration holder_pause = std::chrono::seconds{1};

/// Why this engine alone cannot do it.
std::optional<core::reply> objection(const core::enqueue_request& r) {
  if (!r.how.is_exclusive()) {
    return reply_with<core::reply>(
        status::unsupported,
        "redlock has exclusive locks only: shared mode and permits(n) are unsound over "
        "independent masters. local: (one machine), redis://, etcd:// and "
        "zookeeper:// stores have them");
  }
  if (r.name.str().starts_with(reserved_prefix)) {
    return reply_with<core::reply>(status::invalid,
                                   "names that begin with '" + std::string(reserved_prefix) +
                                       "' are the engine's own; choose another name");
  }
  return std::nullopt;
}

}  // namespace

keeper::keeper(std::shared_ptr<cluster> c, std::shared_ptr<waiters> w, core::session_record draft)
    : cluster_(std::move(c)),
      waiters_(std::move(w)),
      draft_(std::move(draft)),
      timeout_(cluster_->set().timeout_for(draft_.ttl)),
      timer_(cluster_->shared_loop()) {}

keeper::entry* keeper::entry_table::find(std::uint64_t request) const {
  return all_.find(request, [](const entry&) { return true; });
}

keeper::entry& keeper::entry_table::add(std::uint64_t request) {
  HOLDFAST_ASSERT(find(request) == nullptr);
  entry* const made = new (io::take_block(sizeof(entry))) entry{.request = request};
  all_.insert(request, *made);
  return *made;
}

void keeper::entry_table::erase(entry& e) noexcept {
  all_.erase(e.request, e);
  e.~entry();
  io::let_go_of_block(&e, sizeof(entry));
}

void keeper::entry_table::clear() noexcept {
  all_.for_each([](entry& e) {
    e.~entry();
    io::let_go_of_block(&e, sizeof(entry));
  });
  all_.clear();
}

void keeper::run(jobs& all) {
  for (const auto& job : all) job();
  all.clear();
}

// ---- waiting for a lock ----

void keeper::enqueue(const core::enqueue_request& r, core::on<queue_view> done) {
  if (auto no = objection(r)) return done(reply_with<queue_view>(std::move(*no)));
  std::shared_ptr<contender> taker;
  auto over = status::gone;
  {
    const io::held_mutex hold(mutex_);
    if (denied_) {
      over = status::denied;
    } else if (!closed_ && renewal_) {
      taker = add_entry(r, std::move(done));
    }
  }
  if (!taker) return done(reply_with<queue_view>(over));
  taker->start();
}

std::shared_ptr<contender> keeper::add_entry(const core::enqueue_request& r,
                                             core::on<queue_view> done) {
  const std::uint64_t request = r.request;
  round::order o{.name = r.name.str(),
                 .session = draft_.id,
                 .ttl = draft_.ttl,
                 .timeout = timeout_,
                 .hint = 0};
  entry& e = entries_.add(request);
  e.turn = ++turns_;
  e.name = r.name.str();
  e.answer = std::move(done);
  e.listener = r.listener;
  e.taker = io::make_recycled<contender>(
      cluster_, waiters_, std::move(o),
      r.leave_if_busy ? contender::wish::try_once : contender::wish::wait, weak_from_this(),
      contender::ticket{request, e.turn});
  return e.taker;
}

/// Null: its request was left, whoever has the number now.
keeper::entry* keeper::find(const contender::ticket& of) const noexcept {
  entry* const e = entries_.find(of.request);
  return e != nullptr && e->turn == of.turn ? e : nullptr;
}

/// The answer of the enqueue: granted, waiting, or why neither.
void keeper::answered(const contender::ticket& of, core::reply what) {
  queue_view v;
  core::on<queue_view> done;
  std::optional<std::string> whose;
  {
    const io::held_mutex hold(mutex_);
    entry* const e = find(of);
    if (e == nullptr) return;
    done = std::exchange(e->answer, {});
    if (what.what == status::ok) {
      e->taker.reset();
      v = view_of(*e);
    } else {
      v = reply_with<queue_view>(std::move(what));
      if (v.what == status::queued) {
        // What came in between may have ended it, or tells more.
        if (e->is == state::contending && !e->unheard) e->verdict = v;
      } else {
        if (v.what == status::busy && may_find_holder()) whose = e->name;
        forget(*e);
        entries_.erase(*e);
      }
    }
  }
  if (!done) return;
  if (!whose) return done(std::move(v));
  find_holder(cluster_, *whose, draft_.id, timeout_, [v, done](auto first) mutable {
    v.first = std::move(first);
    done(std::move(v));
  });
}

/// A program that polls costs the nodes nothing more.
bool keeper::may_find_holder() {
  const time_point now = clock::now();
  if (!cluster_->set().tokens || now < finds_again_) return false;
  finds_again_ = now + holder_pause;
  return true;
}

/// Takes the key over. False when nobody wants it any more.
bool keeper::held(const contender::ticket& of, round_outcome& r) {
  const io::held_mutex hold(mutex_);
  entry* const found = find(of);
  if (found == nullptr || closed_ || denied_) return false;
  HOLDFAST_ASSERT(renewal_ && r.held && r.key && !r.there.empty());
  HOLDFAST_ASSERT(found->is == state::contending);
  entry& e = *found;
  e.key = *std::exchange(r.key, std::nullopt);
  e.granted = r.granted;
  e.own = io::make_recycled<core::lease>(r.until);
  e.is = state::held;
  e.handle = renewal_->add(*e.own, r.there, r.until, r.granted, cluster_->set().extensions);
  if (by_slot_.size() <= e.handle.slot) by_slot_.resize(e.handle.slot + 1);
  by_slot_[e.handle.slot] = &e;
  wake_at(renewal_->wake());
  return true;
}

void keeper::late(const contender::ticket& of, node_index i) {
  const io::held_mutex hold(mutex_);
  entry* const found = find(of);
  if (found == nullptr || found->is != state::held) return;
  entry& e = *found;
  e.key.answered.add(i);
  renewal_->granted_late(e.handle, i);
}

void keeper::hindered(const contender::ticket& of, std::uint64_t nth, core::reply by) {
  std::shared_ptr<io::notice> watched;
  {
    const io::held_mutex hold(mutex_);
    entry* const found = find(of);
    if (found == nullptr || found->is != state::contending || found->hindrance > nth) return;
    found->hindrance = nth;
    const bool same = found->verdict.what == by.what && found->verdict.text == by.text;
    if (same) return;
    found->verdict = std::move(by);
    // Also where somebody watches: a new watch may be about to take that one's place, and then what
    // is fired here is disarmed.
    found->unheard = true;
    watched = found->watched.lock();
  }
  if (watched) watched->fire();
}

/// A waiter's end that the enqueue's answer did not give.
void keeper::changed(const contender::ticket& of, core::reply why) {
  std::shared_ptr<io::notice> watched;
  {
    const io::held_mutex hold(mutex_);
    entry* const found = find(of);
    if (found == nullptr) return;
    entry& e = *found;
    if (e.is == state::contending) {
      e.is = state::over;
      e.verdict = std::move(why);
    }
    e.taker.reset();
    watched = e.watched.lock();
  }
  if (watched) watched->fire();
}

queue_view keeper::view_of(const entry& e) {
  queue_view v;
  switch (e.is) {
    case state::held:
    case state::lost:
      // That it was lost its lease tells: `gone` would say that of the session.
      v.what = status::ok;
      v.mine = e.granted;
      v.own = e.own;
      break;
    case state::contending:
    case state::over:
      v = reply_with<queue_view>(e.verdict);
      break;
  }
  return v;
}

void keeper::confirm(std::uint64_t request, core::on<queue_view> done) {
  queue_view v;
  {
    const io::held_mutex hold(mutex_);
    entry* const found = entries_.find(request);
    if (denied_) {
      v = reply_with<queue_view>(status::denied);
    } else if (found == nullptr) {
      v = reply_with<queue_view>(status::gone);
    } else {
      v = view_of(*found);
      found->unheard = false;
    }
  }
  done(std::move(v));
}

void keeper::watch(std::uint64_t request, const std::shared_ptr<io::notice>& who) {
  const io::held_mutex hold(mutex_);
  entry* const found = entries_.find(request);
  if (found == nullptr) return;
  found->watched = who;
  if (found->is == state::contending && !found->unheard) return;
  // It has news already, and a notify must not come from here.
  cluster_->loop().post([w = std::weak_ptr(who)] {
    if (const auto n = w.lock()) n->fire();
  });
}

// ---- letting go ----

void keeper::leave(const core::leave_request& r, core::on<core::leave_reply> done) {
  std::shared_ptr<contender> taker;
  core::on<queue_view> answer;
  std::optional<placed_key> key;
  bool finds = false;
  {
    const io::held_mutex hold(mutex_);
    if (entry* const e = entries_.find(r.request); e != nullptr) {
      finds = r.asks_who && e->is == state::contending && may_find_holder();
      taker = std::move(e->taker);
      answer = std::move(e->answer);
      if (e->is == state::held) renewal_->remove(e->handle);
      if (e->is == state::held || e->is == state::lost) key = release_of(*e);
      forget(*e);
      entries_.erase(*e);
    }
  }
  if (taker) taker->cancel();
  if (answer) answer(reply_with<queue_view>(status::gone));
  if (finds) {
    return find_holder(cluster_, r.name.str(), draft_.id, timeout_, [done](auto first) {
      auto left = reply_with<core::leave_reply>(status::ok);
      left.first = std::move(first);
      done(std::move(left));
    });
  }
  if (!key) {
    return done(reply_with<core::leave_reply>(status::ok));
  }
  give_back(std::move(*key), timeout_, std::move(done));
}

/// Every extension that was sent may still come, up to one ttl later.
placed_key keeper::release_of(entry& e) {
  placed_key key = std::move(e.key);
  key.last_sent = std::max(key.last_sent, last_renewal_);
  return key;
}

void keeper::give_back(placed_key key, duration timeout, core::on<core::leave_reply> then) {
  releasing::give_back(cluster_, waiters_, std::move(key), timeout, std::move(then));
}

void keeper::close(core::on<core::reply> done) {
  std::vector<std::shared_ptr<contender>> takers;
  std::vector<placed_key> keys;
  jobs after;
  bool again = false;
  node_set also;
  {
    const io::held_mutex hold(mutex_);
    again = closed_;
    also = asked_;
    keys = again ? std::exchange(left_, {})
                 : take_all(reply_with<core::reply>(status::gone), takers, after);
  }
  for (const auto& t : takers) t->cancel();
  run(after);
  if (again && keys.empty()) return done(reply_with<core::reply>(status::gone));
  end_records(std::move(keys), also, std::move(done));
}

void keeper::drop(const core::reply& why) {
  std::vector<std::shared_ptr<contender>> takers;
  std::vector<std::string> names;
  jobs after;
  {
    const io::held_mutex hold(mutex_);
    left_ = take_all(why, takers, after);
    for (const placed_key& key : left_) names.push_back(key.name);
  }
  for (const auto& t : takers) t->cancel();
  for (const std::string& name : names) waiters_->forsaken(name);
  run(after);
}

/// Nothing is left here. Whoever waits is to be cancelled; the keys are those of
/// locks that are, or were, held.
std::vector<placed_key> keeper::take_all(const core::reply& why,
                                         std::vector<std::shared_ptr<contender>>& takers,
                                         jobs& after) {
  std::vector<placed_key> keys;
  closed_ = true;
  entries_.for_each([&](entry& e) {
    mutex_.held_by_caller();
    if (e.taker) takers.push_back(std::move(e.taker));
    if (e.is == state::held) renewal_->remove(e.handle);
    if (e.is == state::held || e.is == state::lost) keys.push_back(release_of(e));
    if (e.answer) {
      after.push_back([answer = std::move(e.answer), why] { answer(reply_with<queue_view>(why)); });
    }
  });
  by_slot_.clear();
  entries_.clear();
  timer_.cancel();
  end_beats(status::gone, "the session is closed", after);
  return keys;
}

}  // namespace holdfast::engines::redlock
