#include "core/session_machine.hpp"

#include "core/assert.hpp"
#include "core/rules.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::core {

session_machine::session_machine(duration ttl, lease& shared) noexcept : ttl_(ttl), lease_(shared) {
  HOLDFAST_ASSERT(ttl >= ttl_min && ttl <= ttl_max);
}

std::optional<time_point> session_machine::sent_at(std::uint64_t attempt) const noexcept {
  const attempt_sent& slot = sent_[attempt % remembered];
  if (attempt == 0 || slot.number != attempt) return std::nullopt;
  return slot.at;
}

session_machine::step session_machine::opened(time_point sent, time_point now) {
  HOLDFAST_ASSERT(state_ == session_state::attached && attempts_ == 0);
  last_sent_ = sent;
  last_proof_ = active.count_from_send ? sent : now;
  lease_.start(last_proof_ + usable(ttl_));
  return tick(now);
}

session_machine::step session_machine::tick(time_point now, const std::string& trouble) {
  if (is_final()) return {};
  note_lateness(now);
  trouble_ = trouble;
  lease_.expire(now);
  if (lease_.is_lost()) return expired(now);
  step s;
  if (now >= next_send()) s = send_beat(now);
  s = next(now, std::move(s));
  // Whoever is woken then and finds nothing to do would be woken again at once.
  HOLDFAST_ASSERT(s.wake > now);
  return s;
}

session_machine::step session_machine::beat_answered(std::uint64_t attempt, const beat_reply& r,
                                                     time_point now) {
  if (is_final()) return {};
  note_lateness(now);
  if (r.what == status::gone || r.what == status::denied) {
    return ended_by_engine(r.what, r.text);
  }
  refusal_ = r.what == status::ok ? std::string() : r.text;
  if (r.what != status::ok) return next(now, {});
  const std::uint64_t proof = active.prove_own_attempt ? r.proves : attempt;
  // The send that the answer proves, which need not be the one that it answers: an engine may have
  // found an earlier write of ours.
  const auto sent = sent_at(proof);
  if (!sent) return next(now, {});
  const time_point from = active.count_from_send ? *sent : now;
  if (!lease_.extend(from + usable(ttl_), now)) return expired(now);
  // Answers come in any order, and a late one takes nothing back.
  last_proof_ = std::max(last_proof_, from);
  proven_ = std::max(proven_, proof);
  return next(now, {});
}

session_machine::step session_machine::ended_by_engine(status what, const std::string& text) {
  if (is_final()) return {};
  if (what == status::denied) {
    keeps_record_ = true;
    return finish(session_state::denied, text.empty() ? "an operator denied it" : text);
  }
  HOLDFAST_ASSERT(what == status::gone);
  return finish(session_state::expired,
                "its record is gone: another session took it over, or an operator removed it or "
                "the store's data");
}

session_machine::step session_machine::close(time_point now) {
  if (std::exchange(keeps_record_, false)) {
    // Its owner says that nobody acts under it any more, as when it closes one that is attached.
    step s;
    s.remove_record = true;
    return s;
  }
  if (is_final()) return {};
  // A process that was stopped closes what it had lost before: its log has to say so.
  lease_.expire(now);
  if (lease_.is_lost()) return expired(now);
  step s = finish(session_state::closed, "closed by its owner");
  s.remove_record = true;
  return s;
}

session_machine::step session_machine::expired(time_point now) {
  step s = finish(session_state::expired, silence(now));
  // Safe: nobody acts under this lease any more. A denied session's record stays until it is closed
  // or its ttl has run out, because its holder learned of it only now and may still be stopping its
  // work.
  s.remove_record = true;
  return s;
}

session_machine::step session_machine::finish(session_state to, std::string reason) {
  HOLDFAST_ASSERT(!is_final());
  lease_.lose();
  due_ = time_point::max();
  state_ = to;
  HOLDFAST_ASSERT(is_final());
  reason_ = std::move(reason);
  step s;
  s.changed = change{state_, reason_};
  return s;
}

session_machine::step session_machine::send_beat(time_point now) {
  ++attempts_;
  last_sent_ = now;
  sent_[attempts_ % remembered] = {attempts_, now};
  step s;
  s.beat = attempts_;
  return s;
}

std::string session_machine::reason(time_point now) const {
  return state_ == session_state::endangered ? silence(now) : reason_;
}

std::string session_machine::silence(time_point now) const {
  const auto silent = std::chrono::floor<std::chrono::milliseconds>(now - last_proof_);
  std::string text = "no heartbeat was acknowledged for " + print_duration(silent) +
                     " of a ttl of " + print_duration(ttl_);
  const std::string& why = trouble_.empty() ? refusal_ : trouble_;
  for (const std::string& more : {lateness(now), why}) {
    if (!more.empty()) text += "; " + more;
  }
  return text;
}

std::string session_machine::lateness(time_point now) const {
  const auto late =
      std::chrono::floor<std::chrono::milliseconds>(std::max(noted_lateness(), now - due_));
  if (late < ttl_ / 6) return {};
  return "this process was " + print_duration(late) +
         " late to act: it was stopped or suspended, had no CPU, was ending, or a callback or a "
         "local store kept its thread";
}

/// Of what was noted since the newest acknowledged beat was sent.
duration session_machine::noted_lateness() const noexcept {
  return late_until_ > last_proof_ ? late_ : duration::zero();
}

/// Nobody else can tell a process that stood still from servers that did not answer.
void session_machine::note_lateness(time_point now) noexcept {
  if (now <= due_) return;
  late_ = std::max(noted_lateness(), now - due_);
  late_until_ = now;
}

time_point session_machine::next_send() const noexcept {
  const bool awaiting = proven_ != attempts_;
  return last_sent_ + (awaiting ? ttl_ / 6 : ttl_ / 3);
}

time_point session_machine::endangered_at() const noexcept {
  if (proven_ == attempts_) return time_point::max();
  const std::uint64_t oldest = attempts_ < remembered ? 1 : attempts_ - remembered + 1;
  const auto sent = sent_at(std::max(proven_ + 1, oldest));
  return sent ? *sent + ttl_ / 3 : last_proof_ + 2 * (ttl_ / 3);
}

session_machine::step session_machine::next(time_point now, step s) {
  HOLDFAST_ASSERT(proven_ <= attempts_ && !is_final());
  // Another thread may have found that it is over.
  const time_point until = lease_.until();
  if (until == time_point::min()) return expired(now);
  const bool in_danger = now >= endangered_at();
  const auto to = in_danger ? session_state::endangered : session_state::attached;
  if (to != state_) {
    state_ = to;
    reason_ = in_danger ? silence(now) : std::string();
    s.changed = change{state_, reason_};
  }
  s.wake = std::min(until, next_send());
  if (!in_danger) s.wake = std::min(s.wake, endangered_at());
  due_ = s.wake;
  return s;
}

}  // namespace holdfast::core
