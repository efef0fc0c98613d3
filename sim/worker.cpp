#include "sim/worker.hpp"

#include "sim/network.hpp"
#include "sim/session_driver.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;
using core::status;

worker::worker(context& c, oracle& judge, session_driver& s)
    : context_(c), judge_(judge), session_(s) {}

time_point worker::now() const noexcept { return session_.owner().now(); }

template <class F>
void worker::later(moment when, F f) {
  session_.owner().post(when, session_.owner().guarded(round_), std::move(f));
}

void worker::note(const char* what, std::int64_t number) {
  context_.log.note(context_.time.now(), what, session_.truth().index, name_, number);
}

void worker::start() { rest_a_while(); }

void worker::rest_a_while() {
  state_ = state::resting;
  ++round_;
  ++timer_;
  if (!session_.usable()) return session_.rested();
  later(context_.time.now() + context_.dice.between(0ms, context_.setup.idle_most),
        [this] { acquire(); });
}

core::sightings& worker::kept_notes() {
  return session_.owner().machine().notes[{session_.engine().index(), name_}];
}

mode worker::choose_mode() {
  const scenario& s = context_.setup;
  // Whether a name is used with permits is the name's own property, unless somebody disagrees.
  const bool permits = context_.with_permits[static_cast<std::size_t>(name_)];
  const std::uint32_t n = 2 + static_cast<std::uint32_t>(name_) % 3;
  if (context_.dice.chance(s.disagreeing)) {
    if (context_.dice.below(2) == 0) return mode::permits(n + 1);
    return permits ? mode::exclusive() : mode::permits(n);
  }
  if (permits) return mode::permits(n);
  return context_.dice.chance(s.shared) ? mode::shared() : mode::exclusive();
}

core::claim::config worker::choose_wait() {
  const scenario& s = context_.setup;
  core::claim::config c{.how = how_, .waits = !context_.dice.chance(s.tries), .poll = s.poll};
  if (c.waits && context_.dice.chance(s.bounded)) {
    c.give_up = now() + context_.dice.between(1ms, 3000ms);
  }
  return c;
}

void worker::plan_cancel() {
  if (!context_.dice.chance(context_.setup.cancelled)) return;
  later(context_.time.now() + context_.dice.between(0ms, 500ms), [this] {
    if (state_ == state::claiming) perform(claim_->cancel());
  });
}

void worker::acquire() {
  if (!session_.usable()) return session_.rested();
  ++round_;
  state_ = state::claiming;
  name_ = context_.dice.index(static_cast<std::size_t>(context_.setup.names));
  full_name_ = name_number(name_);
  how_ = choose_mode();
  held_ = {};
  request_ = 0;
  serial_ = judge_.asks(session_.truth(), name_, how_);
  claim_.emplace(choose_wait(), session_.truth().lease);
  claim_->recall(kept_notes());
  plan_cancel();
  perform(claim_->start(now()));
}

void worker::session_over(errc why, const std::string& text) {
  if (state_ == state::claiming) {
    perform(claim_->session_over(why, text));
  } else if (state_ == state::holding || state_ == state::releasing) {
    end_case();
  }
}

void worker::perform(core::action a) {
  if (!session_.owner().survives_step()) return;
  std::visit([this](const auto& what) { act_on(what); }, a);
}

void worker::act_on(const core::act::enqueue& a) {
  request_ = session_.next_request();
  note("enqueues, name and request", static_cast<std::int64_t>(request_));
  core::enqueue_request r{.name = full_name_,
                          .id = session_.truth().id,
                          .inc = session_.inc(),
                          .gate = session_.gate(),
                          .request = request_,
                          .how = how_,
                          .leave_if_busy = a.leave_if_busy};
  ask(context_, session_.engine(), session_.owner().guarded(round_), std::move(r),
      [this](const core::queue_view& v) {
        if (v.what == status::stale_gate) session_.saw_gate(v.gate);
        if (v.mine != token{}) judge_.queued(session_.truth(), name_, serial_, v.mine);
        note("enqueue answered, status", static_cast<std::int64_t>(v.what));
        perform(claim_->enqueued(v, now()));
        if (v.what == status::gone || v.what == status::denied) session_.ended_by_engine(v.what);
      });
}

void worker::act_on(const core::act::probe& a) {
  std::vector<session_id> dead;
  for (const core::rival& r : a.whom) {
    const session_truth* truth = context_.session_at(r.where);
    const bool same_host = truth != nullptr && truth->machine == &session_.owner().machine();
    if (same_host && !truth->owner->is(truth->incarnation)) dead.push_back(r.owner);
  }
  later(context_.time.now() + 2us,
        [this, dead = std::move(dead)] { perform(claim_->probed(dead, now())); });
}

void worker::act_on(const core::act::take& a) {
  ask(context_, session_.engine(), session_.owner().guarded(round_),
      core::take_request{a.id, a.seen},
      [this, id = a.id](const core::take_reply& r) { perform(claim_->taken(id, r, now())); });
}

void worker::act_on(const core::act::watch& a) {
  const guard mine = session_.owner().guarded(round_);
  core::watch_request r{full_name_, claim_->order(), a.targets, session_.truth().id, request_};
  watch_message m{std::move(r), mine, [this] {
                    if (state_ == state::claiming) perform(claim_->notified(now()));
                  }};
  ask(context_, session_.engine(), mine, std::move(m), [](const core::reply&) {});
  hint_at_deaths(a);
  arm();
}

void worker::hint_at_deaths(const core::act::watch& a) {
  if (!context_.dice.chance(context_.setup.death_hint)) return;
  // A pidfd would say so; the simulated one looks some milliseconds later, once.
  later(context_.time.now() + context_.dice.between(1ms, 40ms), [this, whom = a.whom] {
    const bool somebody = std::ranges::any_of(whom, [this](const core::rival& r) {
      const session_truth* truth = context_.session_at(r.where);
      return truth != nullptr && !truth->owner->is(truth->incarnation);
    });
    if (somebody && state_ == state::claiming) perform(claim_->notified(now()));
  });
}

void worker::act_on(const core::act::confirm&) {
  core::confirm_request r{full_name_, session_.truth().id, session_.inc(), claim_->order(),
                          request_};
  ask(context_, session_.engine(), session_.owner().guarded(round_), std::move(r),
      [this](const core::queue_view& v) {
        perform(claim_->confirmed(v, now()));
        if (v.what == status::gone || v.what == status::denied) session_.ended_by_engine(v.what);
      });
}

void worker::act_on(const core::act::leave& a) {
  core::leave_request r{.name = full_name_,
                        .id = session_.truth().id,
                        .inc = session_.inc(),
                        .request = request_,
                        .order = claim_->order(),
                        .move_gate = a.move_gate};
  ask(context_, session_.engine(), session_.owner().guarded(round_), std::move(r),
      [this](const core::leave_reply& l) {
        session_.saw_gate(l.gate);
        note("leave answered, status", static_cast<std::int64_t>(l.what));
        perform(claim_->left(l, now()));
      });
}

void worker::act_on(const core::act::rest&) { arm(); }

void worker::arm() {
  ++timer_;
  if (state_ != state::claiming || !claim_->at_rest()) return;
  const time_point wake = claim_->wake();
  if (wake == time_point::max()) return;
  const moment least = context_.time.now() + 1us;
  const moment when = std::max(least, session_.owner().machine().clock.when(wake));
  session_.owner().post(when + context_.dice.between(0us, 500us), session_.owner().guarded(timer_),
                        [this] {
                          if (state_ == state::claiming) perform(claim_->tick(now()));
                        });
}

void worker::act_on(const core::act::finish& a) {
  ++timer_;
  if (!a.granted) note("acquire fails, name and errc", static_cast<std::int64_t>(a.why));
  if (a.granted) {
    held_ = a.held;
    judge_.granted(session_.engine(), session_.truth(), name_, serial_, held_);
    return hold();
  }
  if (a.why == errc::busy || a.why == errc::timed_out) kept_notes() = claim_->notes();
  // The caller has its answer, but while the session lives its entry would stay in everybody's way.
  if (claim_->owes_leave() && session_.usable()) return release(true);
  end_case();
}

void worker::hold() {
  ++round_;
  state_ = state::holding;
  hold_until_ = context_.time.now() + context_.dice.between(0ms, context_.setup.hold_most);
  work();
}

void worker::work() {
  if (!session_.owner().survives_step()) return;
  if (!session_.truth().lease.check(duration::zero(), now())) return end_case();
  judge_.worked(session_.truth(), name_, serial_);
  if (context_.time.now() >= hold_until_) return release(false);
  const moment next = context_.time.now() + context_.dice.between(0ms, context_.setup.work_every);
  later(std::min(next, hold_until_), [this] { work(); });
}

void worker::release(bool move_gate) {
  if (state_ != state::releasing) ++round_;
  state_ = state::releasing;
  judge_.leaves(session_.truth(), name_, serial_);
  core::leave_request r{.name = full_name_,
                        .id = session_.truth().id,
                        .inc = session_.inc(),
                        .request = request_,
                        .order = held_,
                        .move_gate = move_gate};
  ask(context_, session_.engine(), session_.owner().guarded(round_), std::move(r),
      [this, move_gate](const core::leave_reply& l) {
        session_.saw_gate(l.gate);
        const bool again = l.what == status::unknown || l.what == status::unavailable;
        if (!again) return end_case();
        later(context_.time.now() + context_.dice.between(1ms, 50ms),
              [this, move_gate] { release(move_gate); });
      });
}

void worker::end_case() {
  judge_.ends(session_.truth(), name_, serial_);
  rest_a_while();
}

}  // namespace holdfast::sim
