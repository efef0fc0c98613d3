#include "core/claim.hpp"

#include "core/assert.hpp"
#include "core/errc_of.hpp"
#include "core/rules.hpp"
#include "core/splitmix.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <set>

/// Every function returns the one thing that has to be done next, and none but grant() and finish()
/// ends the claim. An entry that may be in the store is left before the claim ends, or owed.

namespace holdfast::core {

namespace {

constexpr duration pace_after_notify = std::chrono::milliseconds{1};
constexpr std::size_t probe_max = 128;  ///< Life locks looked at on arrival, oldest first.
constexpr int rounds_max = 64;          ///< Enqueues without a pause, against a store gone mad.
constexpr int leaves_max = 4;           ///< Times that a leave is sent.
constexpr std::size_t entries_per_poll = 4;  ///< So many, at most, a waiter reads for each poll.
constexpr duration pause_first = std::chrono::milliseconds{10};
constexpr duration pause_most = std::chrono::seconds{1};

/// Nobody waits among entries of another mode, whose holders may hang or be dead.
std::string free_at(const std::optional<time_point>& due, time_point now) {
  if (!due) return {};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now);
  const std::string begin = "; if its holders send no heartbeat any more, ";
  if (left <= duration::zero()) return begin + "the next try takes it over";
  return begin + "a try in " + print_duration(left) + " takes it over";
}

}  // namespace

claim::claim(config c, lease& own)
    : config_(std::move(c)),
      lease_(own),
      pacing_{.interval = config_.poll},
      pause_(pause_first, pause_most) {
  HOLDFAST_ASSERT(config_.poll > duration::zero());
}

action claim::start(time_point now) {
  HOLDFAST_ASSERT(state_ == state::idle);
  pacing_.next_poll = now + config_.poll;
  return enqueue_again();
}

action claim::enqueue_again() {
  if (++rounds_ > rounds_max) return finish({errc::unavailable, "was tried too often"});
  state_ = state::enqueuing;
  return act::enqueue{.leave_if_busy = !config_.waits};
}

action claim::enqueued(const queue_view& v, time_point now) {
  HOLDFAST_ASSERT(state_ == state::enqueuing);
  check();
  switch (v.what) {
    case status::ok:
    case status::queued:
      entry_.order = v.mine;
      entry_.entered = true;
      return v.what == status::ok ? grant(v.own, now) : arrive(v, now);
    case status::busy:
      return arrive(v, now);
    case status::conflicting:
      return v.ahead.empty() ? refused(v) : arrive(v, now);
    case status::stale_gate:
      return pending_ ? finish(*pending_) : enqueue_again();
    case status::unavailable:
      return try_later(reason_of(v), now);
    case status::unknown:
      // It may be there, or come later: nothing else is tried before a leave that moves the gate
      // has shut it out.
      entry_.entered = entry_.unknown = true;
      if (time_is_up(now)) return walk_away();
      return leave({errc::unavailable, "the store did not answer; nothing was done"});
    default:
      return refused(v);
  }
}

claim::reason claim::reason_of(const reply& r) {
  const errc why = errc_of(r.what);
  return {why, r.text.empty() ? error(why).message() : r.text, r.needs_operator};
}

/// An enqueue was certainly not done.
action claim::try_later(reason why, time_point now) {
  if (pending_) return finish(*pending_);
  outcome_ = std::move(why);
  if (!config_.waits || now >= config_.give_up) return finish(outcome_);
  state_ = state::pausing;
  rounds_ = 0;
  resume_ = now + pause_.next(splitmix(config_.seed));
  return act::rest{};
}

/// First sight of a name that others have: note everybody, and look who is dead.
action claim::arrive(const queue_view& v, time_point now) {
  outcome_ = {};
  if (v.what == status::conflicting) outcome_ = {errc_of(v.what), v.text};
  take_view(v, now);
  if (pending_) return settle(now);
  state_ = state::probing;
  const std::size_t n = std::min(seen_.ahead.size(), probe_max);
  return act::probe{{seen_.ahead.begin(), seen_.ahead.begin() + static_cast<std::ptrdiff_t>(n)}};
}

void claim::take_view(const queue_view& v, time_point now) {
  seen_.ahead = v.ahead;
  seen_.targets = v.targets;
  std::sort(seen_.targets.begin(), seen_.targets.end());
  seen_.watched.clear();
  std::copy_if(seen_.ahead.begin(), seen_.ahead.end(), std::back_inserter(seen_.watched),
               [&](const rival& r) {
                 return std::binary_search(seen_.targets.begin(), seen_.targets.end(), r.order);
               });
  seen_.first = v.first;
  seen_.held_by = v.text;
  seen_.blind.reset();
  seen_.removed = false;
  seen_.armed = false;
  pacing_.polls = 0;
  duration shortest = ttl_max;
  for (const rival& r : seen_.watched) shortest = std::min(shortest, r.ttl);
  pacing_.read_at = now + look_every(shortest);
  std::vector<session_id> there;
  there.reserve(seen_.ahead.size());
  for (const rival& r : seen_.ahead) {
    notes_.note(r.owner, r.at, r.ttl, now);
    there.push_back(r.owner);
  }
  // Who has left the queue may hold other locks: only who is ahead is taken over.
  notes_.keep_only(there);
}

action claim::probed(const std::vector<session_id>& dead, time_point now) {
  HOLDFAST_ASSERT(state_ == state::probing);
  check();
  takes_.clear();
  const std::set<session_id> proven(dead.begin(), dead.end());
  for (const session_id& id : proven) {
    const auto seen = notes_.all().find(id);
    // At the version of the view: one that was opened again since is another session, and is left.
    if (seen != notes_.all().end()) takes_.push_back({id, seen->second.at, true});
  }
  for (const auto& d : notes_.due(now)) {
    if (!proven.contains(d.id)) takes_.push_back({d.id, d.at, false});
  }
  return next_take(now);
}

/// After a probe, and after each take:
/// - Somebody dead or due is left: take that one, unless the claim has to end anyway.
/// - No entry of ours is there (a try, or others have another mode): when somebody fell the name
///   may be free, so ask once more; else say what the first answer said.
/// - Our entry is there: when somebody fell it may be granted, so confirm; else wait, or leave.
action claim::next_take(time_point now) {
  if (!pending_ && !takes_.empty()) {
    state_ = state::taking;
    const act::take t = takes_.back();
    takes_.pop_back();
    return t;
  }
  takes_.clear();
  if (!config_.waits || !entry_.entered) {
    if (seen_.removed && !pending_) return enqueue_again();
    if (pending_) return finish(*pending_);
    if (outcome_.text.empty()) return finish({errc::busy, held_text()});
    return finish({outcome_.why, outcome_.text + free_at(notes_.next_due(), now)});
  }
  if (seen_.removed && !pending_) {
    state_ = state::confirming;
    return act::confirm{};
  }
  return settle(now);
}

action claim::taken(const session_id& id, const take_reply& r, time_point now) {
  // Nobody is forgotten between a take and its answer.
  HOLDFAST_ASSERT(state_ == state::taking && notes_.all().contains(id));
  if (r.what == status::ok || r.what == status::gone) {
    notes_.forget(id);
    seen_.removed = true;
  } else if (r.what == status::changed) {
    // It lives: it beat since it was seen.
    notes_.note(id, r.at, duration(notes_.all().at(id).ttl), now);
  }
  if (!is_answer(r.what) && time_is_up(now)) {
    takes_.clear();
    return walk_away();
  }
  // Each costs a round trip, and a rack that lost its power leaves many. What has fallen by now may
  // have been all: one look tells.
  if (config_.waits && now >= config_.give_up) takes_.clear();
  return next_take(now);
}

action claim::confirmed(const queue_view& v, time_point now) {
  HOLDFAST_ASSERT(state_ == state::confirming);
  check();
  switch (v.what) {
    case status::ok:
      if (v.mine.value != 0) entry_.order = v.mine;
      return grant(v.own, now);
    case status::queued:
      take_view(v, now);
      if (time_is_up(now)) return settle(now);
      state_ = state::probing;
      return act::probe{seen_.watched};
    case status::unavailable:
    case status::unknown:
      // A read that failed changed nothing: the entry keeps its place, and the next poll reads.
      pacing_.polls = polls_until_read();
      pacing_.read_at = now;
      seen_.blind = reason_of(v);
      seen_.blind->why = errc::unavailable;
      return time_is_up(now) ? walk_away() : settle(now);
    default:
      return refused(v);
  }
}

/// Whether it has to end: then it is pending.
bool claim::time_is_up(time_point now) {
  if (!pending_ && now >= config_.give_up) {
    pending_ = seen_.blind ? seen_.blind : reason{errc::timed_out, held_text()};
  }
  return pending_.has_value();
}

/// The store has just not answered, and nobody has time to see whether it answers a leave.
action claim::walk_away() {
  entry_.owed = entry_.entered;
  entry_.leaves = 0;
  if (entry_.unknown) return outcome_unknown();
  return finish(*pending_);
}

action claim::outcome_unknown() {
  return finish({errc::outcome_unknown,
                 "the store did not answer; an entry may be there until the session ends"});
}

action claim::settle(time_point now) {
  if (time_is_up(now)) return leave(*pending_);
  state_ = state::watching;
  pacing_.rested = now;
  const bool nothing_to_probe = seen_.watched.empty() && !seen_.blind;
  pacing_.next_poll = now + (nothing_to_probe ? look_every(ttl_max) : pacing_.interval);
  pacing_.interval = std::min(2 * pacing_.interval, config_.poll);
  HOLDFAST_ASSERT(pacing_.next_poll > now);
  if (std::exchange(seen_.armed, true)) return act::rest{};
  return act::watch{.targets = seen_.targets, .whom = seen_.watched};
}

action claim::grant(const std::shared_ptr<lease>& own, time_point now) {
  const auto over = [now](lease& l) {
    return active.check_lease_at_grant && !l.check(duration::zero(), now);
  };
  // A limit that passed while the store was granting does not give the grant back; a cancel does.
  const bool stopped = pending_ && pending_->why != errc::timed_out;
  const bool session_over = over(lease_);
  const bool own_over = own && over(*own);
  if (!stopped && !session_over && !own_over) {
    HOLDFAST_ASSERT(!finished() && !entry_.owed);
    state_ = state::finished;
    return act::finish{.granted = true, .held = entry_.order, .own = own};
  }
  // The engine extends it for as long as it is not lost.
  if (own) own->lose();
  if (session_over) return leave({errc::lost, "granted, but the session's lease had ended before"});
  if (stopped) return leave(*pending_);
  entry_.again = true;
  return leave({errc::unavailable, "granted, but the lock's own deadline had passed before"});
}

action claim::leave(reason why) {
  outcome_ = std::move(why);
  if (!entry_.entered) return finish(outcome_);
  entry_.leaves = 0;
  pause_.reset();
  return give_back();
}

action claim::give_back() {
  HOLDFAST_ASSERT(entry_.entered && entry_.leaves < leaves_max);
  ++entry_.leaves;
  state_ = state::leaving;
  return act::leave{.move_gate = entry_.unknown && active.gate_unknown_enqueue,
                    .asks_who = outcome_.why == errc::timed_out && !seen_.first};
}

/// - The entry is gone for certain: enqueue again, if it was given up only because nobody knew
///   whether it was there, or because its lease had passed. After `gone` there is no session to do
///   that with, so the claim ends.
/// - No answer: the leave is owed, and repeated a few times unless the claim has to end.
/// - A refusal: the leave is owed, and would only be refused once more, so the claim ends.
action claim::left(const leave_reply& r, time_point now) {
  HOLDFAST_ASSERT(state_ == state::leaving && entry_.entered);
  const bool certain = r.what == status::ok || r.what == status::gone;
  entry_.owed = !certain;
  const bool in_time = !pending_ && now < config_.give_up;
  if (!is_answer(r.what) && in_time && entry_.leaves < leaves_max) {
    state_ = state::lingering;
    resume_ = now + pause_.next(splitmix(config_.seed));
    return act::rest{};
  }
  if (!certain && entry_.unknown) return outcome_unknown();
  if (outcome_.why == errc::timed_out && r.first) {
    seen_.first = r.first;
    outcome_.text = held_text();
  }
  if (certain) {
    const bool again = entry_.unknown || entry_.again;
    entry_.entered = entry_.unknown = entry_.again = false;
    entry_.order = {};
    if (again && (r.what == status::ok || pending_)) return try_later(outcome_, now);
  }
  return finish(outcome_);
}

action claim::notified(time_point now) {
  if (state_ != state::watching) {
    // It may tell of something newer than what is being read: then the read is repeated.
    notified_ = state_ != state::finished;
    return act::rest{};
  }
  if (!active.confirm_after_wait) return grant(nullptr, now);
  notified_ = false;
  pacing_.interval =
      std::min(seen_.watched.empty() ? pause_first : pace_after_notify, config_.poll);
  state_ = state::confirming;
  return act::confirm{};
}

action claim::tick(time_point now) {
  switch (state_) {
    case state::pausing:
      if (now >= config_.give_up) return finish(outcome_);
      return now < resume_ ? act::rest{} : enqueue_again();
    case state::lingering:
      if (now >= config_.give_up) return end_lingering();
      return now < resume_ ? act::rest{} : give_back();
    case state::watching:
      if (notified_) return notified(now);
      if (now >= config_.give_up) return settle(now);
      return now < poll_due() ? act::rest{} : poll(now);
    default:
      return act::rest{};
  }
}

// A read shows all that are ahead: those far behind read less often, so that the work of a queue
// grows with its length and not with the square of it.
int claim::polls_until_read() const noexcept {
  return static_cast<int>(seen_.ahead.size() / entries_per_poll);
}

action claim::poll(time_point now) {
  const auto due = notes_.next_due();
  const bool reads = ++pacing_.polls >= polls_until_read() && now >= pacing_.read_at;
  if (seen_.watched.empty() || reads || (due && now >= *due)) {
    state_ = state::confirming;
    return act::confirm{};
  }
  state_ = state::probing;
  // Newer than what let this one look: a notification, or its own last look.
  const duration age = (pacing_.next_poll - pacing_.rested) * 2 / 5;
  if (seen_.watched.size() <= probe_max) return act::probe{seen_.watched, age};
  // Permits may watch thousands; each poll looks at the next few.
  std::rotate(seen_.watched.begin(), seen_.watched.begin() + probe_max, seen_.watched.end());
  return act::probe{{seen_.watched.begin(), seen_.watched.begin() + probe_max}, age};
}

action claim::cancel() { return stop({errc::cancelled, "cancelled by the caller"}); }

action claim::session_over(errc why, std::string text) { return stop({why, std::move(text)}); }

action claim::stop(reason why) {
  if (state_ == state::finished) return act::rest{};
  // The first reason is the one that is told: the others may follow from it.
  if (!pending_) pending_ = std::move(why);
  switch (state_) {
    case state::idle:
    case state::pausing:
      return finish(*pending_);
    case state::watching:
      return leave(*pending_);
    case state::lingering:
      return end_lingering();
    default:
      return act::rest{};
  }
}

/// The last leave was not answered, and there is no time for another one.
action claim::end_lingering() { return entry_.unknown ? outcome_unknown() : finish(outcome_); }

time_point claim::poll_due() const noexcept {
  const auto due = notes_.next_due();
  return due && *due > pacing_.rested ? std::min(pacing_.next_poll, *due) : pacing_.next_poll;
}

time_point claim::wake() const noexcept {
  if (state_ == state::pausing || state_ == state::lingering)
    return std::min(resume_, config_.give_up);
  if (notified_) return time_point::min();
  return std::min(poll_due(), config_.give_up);
}

bool claim::at_rest() const noexcept {
  return state_ == state::watching || state_ == state::pausing || state_ == state::lingering;
}
bool claim::finished() const noexcept { return state_ == state::finished; }

action claim::finish(reason why) {
  HOLDFAST_ASSERT(!finished());
  check();
  state_ = state::finished;
  return act::finish{
      .why = why.why, .text = std::move(why.text), .needs_operator = why.needs_operator};
}

action claim::refused(const queue_view& v) {
  // A confirm that was refused leaves an entry only when the session is still there.
  if (state_ == state::confirming && v.what != status::gone) {
    return leave(reason_of(v));
  }
  return finish(reason_of(v));
}

void claim::own_entry::check() const { HOLDFAST_ASSERT(entered || !(unknown || owed)); }

/// What is said of the entry, and of the takes, agrees with the state.
void claim::check() const {
  entry_.check();
  HOLDFAST_ASSERT(takes_.empty() || state_ == state::taking);
}

std::string claim::held_text() const {
  if (!seen_.first) return seen_.held_by.empty() ? "held by somebody else" : seen_.held_by;
  const owner_info& o = seen_.first->owner;
  // Another program wrote it, perhaps not by this library.
  const auto shown = [](const std::string& text) { return lock_name(text).printable(); };
  std::string who =
      "held by " + (o.program.empty() ? "session " + seen_.first->id.str() : shown(o.program));
  who += " (pid " + std::to_string(o.pid) + " on host " + shown(o.host);
  if (!o.instance.empty()) who += ", instance \"" + shown(o.instance) + "\"";
  if (!o.label.empty()) who += ", label \"" + shown(o.label) + "\"";
  who += ')';
  // A store without a queue shows nobody.
  return seen_.ahead.empty() ? who : who + ", " + std::to_string(seen_.ahead.size()) + " ahead";
}

}  // namespace holdfast::core
