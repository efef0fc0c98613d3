#include "core/claim.hpp"

#include "core/assert.hpp"
#include "core/rules.hpp"

#include <algorithm>

namespace holdfast::core {

namespace {

constexpr std::size_t probe_max = 128;  ///< Life locks looked at on arrival, oldest first.
constexpr int rounds_max = 64;          ///< Enqueues of one claim, against a store gone mad.

errc code_of(status s) noexcept {
  switch (s) {
    case status::busy:
      return errc::busy;
    case status::gone:
      return errc::lost;
    case status::denied:
      return errc::denied;
    case status::conflicting:
      return errc::invalid_argument;
    case status::unsupported:
      return errc::unsupported;
    case status::unknown:
      return errc::outcome_unknown;
    case status::damaged:
      return errc::damaged;
    default:
      return errc::unavailable;
  }
}

}  // namespace

claim::claim(config c, lease& own, sightings notes)
    : config_(std::move(c)), lease_(own), notes_(std::move(notes)) {}

action claim::start(time_point now) {
  HOLDFAST_ASSERT(state_ == state::idle);
  next_poll_ = now + config_.poll;
  return enqueue_again();
}

action claim::enqueue_again() {
  if (++rounds_ > rounds_max) return finish(errc::unavailable, said("was tried too often"));
  state_ = state::enqueuing;
  return act::enqueue{.leave_if_busy = !config_.waits};
}

action claim::enqueued(const queue_view& v, time_point now) {
  HOLDFAST_ASSERT(state_ == state::enqueuing);
  switch (v.what) {
    case status::ok:
      mine_ = v.mine;
      return grant(v.mine, now);
    case status::queued:
      mine_ = v.mine;
      return arrive(v, now);
    case status::busy:
      return arrive(v, now);
    case status::stale_gate:
      return pending_ ? finish(pending_->why, pending_->text) : enqueue_again();
    case status::unknown:
      entry_unknown_ = true;
      return leave(errc::unavailable, said("the store did not answer; nothing was done"));
    default:
      return refused(v);
  }
}

/// First sight of a held name: note everybody, and look who is dead.
action claim::arrive(const queue_view& v, time_point now) {
  look(v, now);
  if (pending_) return settle(now);
  state_ = state::probing;
  const std::size_t n = std::min(ahead_.size(), probe_max);
  return act::probe{{ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(n)}};
}

void claim::look(const queue_view& v, time_point now) {
  ahead_ = v.ahead;
  targets_ = v.targets;
  first_ = v.first;
  removed_ = false;
  std::vector<session_id> there;
  there.reserve(ahead_.size());
  for (const rival& r : ahead_) {
    notes_.note(r.owner, r.at, r.ttl, now);
    there.push_back(r.owner);
  }
  notes_.keep_only(there);
}

action claim::probed(const std::vector<session_id>& dead, time_point now) {
  HOLDFAST_ASSERT(state_ == state::probing);
  takes_.clear();
  for (const session_id& id : dead) {
    const auto seen = notes_.all().find(id);
    if (seen != notes_.all().end()) takes_.push_back({id, seen->second.at, true});
  }
  for (const auto& d : notes_.due(now)) {
    const bool twice =
        std::any_of(takes_.begin(), takes_.end(), [&](const act::take& t) { return t.id == d.id; });
    if (!twice) takes_.push_back({d.id, d.at, false});
  }
  return next_take(now);
}

action claim::next_take(time_point now) {
  if (!pending_ && !takes_.empty()) {
    state_ = state::taking;
    const act::take t = takes_.back();
    takes_.pop_back();
    return t;
  }
  takes_.clear();
  if (!config_.waits) {
    if (removed_ && !pending_) return enqueue_again();
    return pending_ ? finish(pending_->why, pending_->text) : finish(errc::busy, held_text());
  }
  if (removed_ && !pending_) {
    state_ = state::confirming;
    return act::confirm{};
  }
  return settle(now);
}

action claim::taken(const session_id& id, const take_reply& r, time_point now) {
  HOLDFAST_ASSERT(state_ == state::taking);
  if (r.what == status::ok || r.what == status::gone) {
    notes_.forget(id);
    removed_ = true;
  } else if (r.what == status::changed) {
    // It lives: it beat since it was seen.
    const auto seen = notes_.all().find(id);
    if (seen != notes_.all().end()) notes_.note(id, r.at, duration(seen->second.ttl), now);
  }
  return next_take(now);
}

action claim::confirmed(const queue_view& v, time_point now) {
  HOLDFAST_ASSERT(state_ == state::confirming);
  switch (v.what) {
    case status::ok:
      return grant(mine_, now);
    case status::queued: {
      look(v, now);
      if (pending_) return settle(now);
      state_ = state::probing;
      act::probe look_at;
      std::copy_if(ahead_.begin(), ahead_.end(), std::back_inserter(look_at.whom),
                   [&](const rival& r) { return watches(r.order); });
      return look_at;
    }
    case status::unavailable:
    case status::unknown:
      // A read that failed changed nothing: the entry keeps its place, and the poll asks again.
      return settle(now);
    default:
      return refused(v);
  }
}

bool claim::watches(token order) const {
  return std::find(targets_.begin(), targets_.end(), order) != targets_.end();
}

action claim::settle(time_point now) {
  if (!pending_ && now >= config_.give_up) {
    pending_ = act::finish{.why = errc::timed_out, .text = held_text()};
  }
  if (pending_) return leave(pending_->why, pending_->text);
  state_ = state::watching;
  rested_ = now;
  next_poll_ = now + config_.poll;
  act::watch w{.targets = targets_};
  std::copy_if(ahead_.begin(), ahead_.end(), std::back_inserter(w.whom),
               [&](const rival& r) { return watches(r.order); });
  return w;
}

action claim::grant(token t, time_point now) {
  const bool too_late = active.check_lease_at_grant && !lease_.check(duration::zero(), now);
  if (too_late) {
    return leave(errc::lost, said("granted, but the session's lease had ended before"));
  }
  // A limit that passed while the store was granting does not give the grant back; a cancel does.
  if (pending_ && pending_->why != errc::timed_out) return leave(pending_->why, pending_->text);
  state_ = state::finished;
  return act::finish{.held = t};
}

action claim::leave(errc why, std::string text) {
  outcome_ = {.why = why, .text = std::move(text)};
  if (mine_.value == 0 && !entry_unknown_) return finish(outcome_.why, outcome_.text);
  state_ = state::leaving;
  return act::leave{.move_gate = entry_unknown_ && active.gate_unknown_enqueue};
}

action claim::left(const leave_reply& r, time_point) {
  HOLDFAST_ASSERT(state_ == state::leaving);
  const bool certain = r.what == status::ok || r.what == status::gone;
  owes_leave_ = !certain;
  if (certain || !entry_unknown_) {
    if (pending_ && entry_unknown_) return finish(pending_->why, pending_->text);
    return finish(outcome_.why, outcome_.text);
  }
  return finish(errc::outcome_unknown,
                said("the store did not answer; an entry may be there until the session ends"));
}

action claim::notified(time_point now) {
  if (state_ != state::watching) {
    notified_ = state_ != state::finished;
    return act::rest{};
  }
  if (!active.confirm_after_wait) return grant(mine_, now);
  notified_ = false;
  state_ = state::confirming;
  return act::confirm{};
}

action claim::tick(time_point now) {
  if (state_ != state::watching) return act::rest{};
  if (notified_) return notified(now);
  if (now >= config_.give_up) return settle(now);
  if (now < next_look()) return act::rest{};
  state_ = state::confirming;
  return act::confirm{};
}

action claim::cancel(time_point now) {
  return session_over(errc::cancelled, said("cancelled by the caller"), now);
}

action claim::session_over(errc why, std::string text, time_point) {
  if (state_ == state::finished) return act::rest{};
  if (!pending_) pending_ = act::finish{.why = why, .text = std::move(text)};
  if (state_ == state::idle) return finish(pending_->why, pending_->text);
  if (state_ == state::watching) return leave(pending_->why, pending_->text);
  return act::rest{};
}

time_point claim::next_look() const noexcept {
  const auto due = notes_.next_due();
  return due && *due > rested_ ? std::min(next_poll_, *due) : next_poll_;
}

time_point claim::wake() const noexcept {
  if (notified_) return time_point::min();
  return std::min(next_look(), config_.give_up);
}

bool claim::at_rest() const noexcept { return state_ == state::watching; }
bool claim::finished() const noexcept { return state_ == state::finished; }

action claim::finish(errc why, std::string text) {
  state_ = state::finished;
  return act::finish{.why = why, .text = std::move(text)};
}

action claim::refused(const queue_view& v) {
  const errc why = code_of(v.what);
  std::string text = v.text;
  if (text.empty()) text = error(why).message();
  // A confirm that was refused leaves an entry only when the session is still there.
  if (state_ == state::confirming && v.what != status::gone) return leave(why, said(text));
  return finish(why, said(text));
}

std::string claim::said(const std::string& text) const {
  return config_.subject.empty() ? text : config_.subject + ": " + text;
}

std::string claim::held_text() const {
  if (!first_) return said("held by somebody else");
  const owner_info& o = first_->owner;
  std::string who = "held by " + (o.program.empty() ? "session " + first_->id.str() : o.program);
  who += " (pid " + std::to_string(o.pid) + " on host " + o.host;
  if (!o.instance.empty()) who += ", instance \"" + lock_name(o.instance).printable() + "\"";
  if (!o.label.empty()) who += ", label \"" + lock_name(o.label).printable() + "\"";
  return said(who + "), " + std::to_string(ahead_.size()) + " ahead");
}

}  // namespace holdfast::core
