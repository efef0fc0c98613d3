#include "engines/redlock/contender.hpp"

#include "core/assert.hpp"
#include "core/replies.hpp"
#include "engines/redlock/releasing.hpp"
#include "io/thread/random.hpp"
#include "io/thread/recycled.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using core::status;

constexpr duration held_here_poll = 1s;
constexpr std::string_view held_by_whom = "held by somebody else; ";
/// For programs that poll: some do every 100 or 200 ms.
constexpr duration strangers_gap = 10ms;

status status_after(const round_outcome& r) noexcept {
  if (r.held) return status::ok;
  if (r.denied) return status::denied;
  if (r.refused) return status::invalid;
  return r.why.code() == errc::busy ? status::busy : status_of(r.why);
}

core::reply reply_after(const round_outcome& r) {
  return {status_after(r), r.why.message(), r.why.needs_operator()};
}

/// Nobody can say that a lock is held where too few nodes say so.
bool is_down(const core::reply& ended) noexcept {
  return ended.what == status::unavailable || ended.what == status::not_initialised;
}

/// What stands in a waiter's way after a round that ended so.
core::reply hindrance(const round_outcome& r, const core::reply& ended) {
  if (is_down(ended)) return core::reply_as(status::unavailable, ended);
  core::reply by{status::queued};
  if (r.endless) by.text.append(held_by_whom).append(core::redlock::attempt::endless_key);
  return by;
}

}  // namespace

contender::contender(std::shared_ptr<cluster> c, std::shared_ptr<waiters> w, round::order o,
                     wish what, std::weak_ptr<listener> l, const ticket& of)
    : cluster_(std::move(c)),
      waiters_(std::move(w)),
      order_(std::move(o)),
      waits_(what == wish::wait),
      listener_(std::move(l)),
      ticket_(of),
      pause_(core::redlock::pause::config{}) {}

void contender::start() {
  if (!waits_) return begin_round();
  const auto place = waiters_->join(order_.name, shared_from_this());
  bool gone = false;
  {
    const io::held_mutex hold(mutex_);
    gone = state_ == state::leaving || state_ == state::over;
    if (!gone && place != waiters::place::first) {
      // The end of a round that its turn has begun meanwhile tells more.
      if (answered_ || state_ == state::in_round) return;
      answered_ = true;
    }
  }
  // Before it stood in the queue nobody could take it out.
  if (gone) return waiters_->leave(order_.name, *this, false);
  if (place == waiters::place::first) return begin_round();
  core::reply queued;
  queued.what = status::queued;
  if (const auto l = listener_.lock()) l->answered(ticket_, std::move(queued));
  if (place == waiters::place::courtesy) turn(wakeup::others);
  if (place == waiters::place::behind) look_up();
}

void contender::begin_round() {
  std::shared_ptr<round> r;
  {
    const io::held_mutex hold(mutex_);
    if (!may_begin()) return;
    state_ = state::in_round;
    again_ = lets_by_ = false;
    cluster_->loop().cancel(std::exchange(timer_, 0));
    order_.hint = cluster_->newest_token();
    r = round_ = io::make_recycled<round>(cluster_, order_, shared_from_this());
  }
  r->start();
}

void contender::round_ended(round_outcome&& r) {
  cluster_->saw_token(r.newest_token);
  if (!r.held && r.key) {
    io::make_recycled<releasing>(cluster_, *std::move(r.key), order_.timeout)->start({});
  }
  bool wanted = false;
  bool was_turn = false;
  {
    const io::held_mutex hold(mutex_);
    HOLDFAST_ASSERT(is_in_round() && round_ != nullptr);
    round_.reset();
    if (r.took) pause_.measured(*r.took);
    wanted = state_ == state::in_round;
    if (summoned_ == summons::call) {
      // The call came from one node, and the release may still be on its way to others.
      again_ = again_ || (!r.held && !r.there.empty());
      waiters_->was_called(order_.name, r.held);
      summoned_ = summons::turn;
    }
    if (r.held) summoned_ = summons::none;
    if (!wanted) {
      state_ = state::over;
      was_turn = give_up_turn();
    }
  }
  if (r.held) {
    const auto l = listener_.lock();
    if (!wanted || !l || !l->held(ticket_, r)) {
      // Not one of those who wait.
      waiters_->leave(order_.name, *this, true);
      releasing::give_back(cluster_, waiters_, *std::move(r.key), order_.timeout, {});
    }
    return end(reply_after(r));
  }
  if (!wanted) return withdraw(was_turn);
  if (again_when_mended(r)) return;
  const core::reply reply = reply_after(r);
  bool hopeless = reply.what == status::denied || reply.what == status::invalid ||
                  reply.what == status::damaged;
  {
    const io::held_mutex hold(mutex_);
    hopeless = hopeless || (!answered_ && is_down(reply));
  }
  if (!waits_ || hopeless) return end(reply);
  rest(r, reply);
}

/// Too few granted it in this round, and some that would have had lost the scripts, or had no
/// record of the session because they were away: they get it ahead of what is sent to them next. Or
/// another client moved the epoch, which has each of them looked at, and none votes meanwhile.
bool contender::again_when_mended(const round_outcome& r) {
  if (const auto l = listener_.lock(); l && !r.unrecorded.empty()) l->unrecorded(r.unrecorded);
  {
    const io::held_mutex hold(mutex_);
    const bool unasked = (r.forgot || r.outdated) && r.why.code() == errc::unavailable;
    const bool mends = unasked && !std::exchange(mended_, true);
    // A round ends with the first node that is one too many; others may follow in the next.
    const bool records = !(r.unrecorded - recorded_).empty();
    recorded_ = recorded_ | r.unrecorded;
    if (!mends && !records) return false;
    if (state_ == state::in_round) state_ = state::resting;
  }
  cluster_->loop().post([self = weak_from_this()] {
    const auto c = self.lock();
    if (!c) return;
    c->cluster_->when_ready(clock::now() + c->order_.timeout, [self] {
      if (const auto still = self.lock()) still->begin_round();
    });
  });
  return true;
}

void contender::late(node_index i) {
  if (const auto l = listener_.lock()) l->late(ticket_, i);
}

void contender::begin_after(duration wait) {
  cluster_->loop().cancel(std::exchange(timer_, 0));
  timer_ = cluster_->loop().at(clock::now() + wait, [self = weak_from_this()] {
    if (const auto c = self.lock()) c->begin_round();
  });
}

void contender::rest(const round_outcome& r, const core::reply& ended) {
  bool tell = false;
  bool changed = false;
  std::uint64_t nth = 0;
  core::reply by = hindrance(r, ended);
  const bool cut_off = ended.what == status::not_initialised || !cluster_->majority_is_connected();
  const auto seen = waiters_->round_ended(order_.name, *this, by, cut_off, clock::now());
  {
    const io::held_mutex hold(mutex_);
    if (state_ != state::in_round) return;
    state_ = state::resting;
    if (!again_) summoned_ = summons::none;
    tell = !std::exchange(answered_, true);
    if (!seen.doubtful) changed = std::exchange(shown_.endless, r.endless) != r.endless;
    changed = changed || seen.blind || seen.turned;
    if (changed && !tell) nth = ++shown_.times;
    const std::uint64_t dice = io::random_bits();
    // Whoever got nothing at all met a holder; others may have split the votes with somebody.
    const bool notified = r.there.empty() && waiters_->hears(order_.name);
    begin_after(again_          ? pause_.after_notification(dice)
                : seen.doubtful ? pause_.first(dice)
                : notified      ? pause_.next_while_notified(dice, r.holder_left)
                                : pause_.next(dice, r.holder_left));
  }
  const auto l = tell || changed ? listener_.lock() : nullptr;
  if (l && tell) {
    l->answered(ticket_, std::move(by));
  } else if (l) {
    l->hindered(ticket_, nth, std::move(by));
  }
  waiters_->listen_for(order_.name);
}

/// Who is behind asks nobody, and the first one asks for all.
void contender::look_up() {
  core::reply by{.what = status::queued};
  std::uint64_t nth = 0;
  {
    const io::held_mutex hold(mutex_);
    if (state_ == state::leaving || state_ == state::over) return;
    // As it is in this moment: of two that turn it in a row the listener may hear of the later one
    // first.
    const auto why = waiters_->blindness(order_.name);
    if (std::exchange(shown_.blind, why.has_value()) == why.has_value()) return;
    if (why) by = *why;
    nth = ++shown_.times;
  }
  if (const auto l = listener_.lock()) l->hindered(ticket_, nth, std::move(by));
}

void contender::turn(wakeup what) {
  const bool is_turn = what == wakeup::freed || what == wakeup::next;
  bool gone = false;
  {
    const io::held_mutex hold(mutex_);
    gone = state_ == state::over;
    if (is_in_round()) again_ = again_ || is_turn || what == wakeup::heard;
    if (is_turn && summoned_ == summons::none) summoned_ = summons::turn;
    if (is_in_round()) return;
    if (!gone) {
      state_ = state::resting;
      // Another wakeup may come before the round of this one begins.
      if (what == wakeup::next) summoned_ = summons::call;
      if (const auto wait = pause_on(what)) begin_after(*wait);
    }
  }
  if (gone) return withdraw(is_turn);
  if (what == wakeup::others && !waiters_->hears(order_.name)) waiters_->listen_for(order_.name);
  if (what == wakeup::first || is_turn) begin_round();
}

/// Nothing: it acts at once, or goes on resting.
std::optional<duration> contender::pause_on(wakeup what) {
  const std::uint64_t dice = io::random_bits();
  switch (what) {
    case wakeup::held:
      // It hears when that lets it go; a poll is for what nobody notifies of.
      return held_here_poll;
    case wakeup::others:
      lets_by_ = true;
      return std::min(pause_.next_while_notified(dice), waiters_->courtesy(order_.name));
    case wakeup::strangers:
      return strangers_gap;
    case wakeup::heard:
      return pause_.after_notification(dice);
    case wakeup::looks_taken:
      return pause_.next_while_notified(dice);
    case wakeup::looks_free:
      // Somebody may have been called, whose request is under way.
      return lets_by_ ? std::nullopt : std::optional(pause_.first(dice));
    case wakeup::first:
    case wakeup::freed:
    case wakeup::next:
      break;
  }
  return std::nullopt;
}

bool contender::give_up_turn() { return std::exchange(summoned_, summons::none) != summons::none; }

void contender::withdraw(bool was_turn) {
  if (waits_) waiters_->leave(order_.name, *this, false);
  if (was_turn) waiters_->pass_on(order_.name);
}

void contender::end(core::reply what) {
  bool first = false;
  bool wanted = false;
  bool was_turn = false;
  {
    const io::held_mutex hold(mutex_);
    wanted = std::exchange(state_, state::over) == state::in_round;
    first = !std::exchange(answered_, true);
    was_turn = give_up_turn() && what.what != status::ok;
  }
  if (waits_) waiters_->leave(order_.name, *this, wanted && what.what == status::ok);
  if (was_turn) waiters_->pass_on(order_.name);
  const auto l = wanted ? listener_.lock() : nullptr;
  if (!l) return;
  if (first) {
    l->answered(ticket_, std::move(what));
  } else {
    l->changed(ticket_, std::move(what));
  }
}

void contender::cancel() {
  std::shared_ptr<round> r;
  bool was_turn = false;
  {
    const io::held_mutex hold(mutex_);
    if (state_ == state::leaving || state_ == state::over) return;
    r = round_;
    // Without one its round has ended, be it in this moment.
    if (r) {
      state_ = state::leaving;
    } else {
      state_ = state::over;
      was_turn = give_up_turn();
      cluster_->loop().cancel(std::exchange(timer_, 0));
    }
  }
  if (!r) return withdraw(was_turn);
  // The next one asks at once: what this round may have got goes ahead of that.
  r->cancel([self = shared_from_this()] { self->withdraw(false); });
}

}  // namespace holdfast::engines::redlock
