#include "client/session_core.hpp"

#include "client/acquisition.hpp"
#include "client/await.hpp"
#include "client/failure.hpp"
#include "client/user_code.hpp"
#include "io/process/fork_mark.hpp"
#include "io/thread/background.hpp"

#include <algorithm>
#include <utility>

/// What an open session does; session_open.cpp opens it. The machine decides under the mutex, and
/// what it asks for is carried out without it: beats on the loop, ends and losses on the alarm,
/// which does no I/O, and waits that have to end on the loop again.

namespace holdfast::client {

namespace {

/// The name is taken until a leave is confirmed; a store that is away is asked more rarely.
constexpr duration leave_pause_first = std::chrono::milliseconds{100};
constexpr duration leave_pause_most = std::chrono::seconds{1};
/// A hundred thousand locks may be lost in one moment, for one reason.
constexpr duration trouble_age = std::chrono::milliseconds{50};
/// A callback of the user's may keep the alarm busy.
constexpr duration tell_limit = std::chrono::seconds{2};

session_options without_observer(session_options o) {
  o.observer = nullptr;
  return o;
}

}  // namespace

session_core::session_core(std::shared_ptr<store_core> store, session_options options, duration ttl)
    : store_(std::move(store)),
      options_(without_observer(options)),
      ttl_(ttl),
      generation_(io::process_generation()),
      events_(std::move(options.observer)),
      machine_(ttl, lease_) {}

session_core::~session_core() {
  if (alarm_) alarm_->unwatch(watched_);
  if (loop_) loop_->cancel(timer_);
  // The record may still be there: then the file has to stay, so that others can judge it.
  life_.forget();
}

void session_core::raise_gate(std::uint64_t to) noexcept {
  auto seen = gate_.load(std::memory_order_relaxed);
  while (seen < to && !gate_.compare_exchange_weak(seen, to, std::memory_order_acq_rel)) {
  }
}

result<void> session_core::usable() {
  if (auto asked = store_->usable(); !asked) return asked;
  if (!lease_.is_lost()) return {};
  const auto now = status();
  return over_error(now.state, now.reason, id_);
}

error session_core::why_over() {
  const auto asked = usable();
  return asked ? error(errc::lost) : asked.error();
}

session_status session_core::status() {
  if (forked()) return {session_state::expired, {}, forked_error().message()};
  const auto now = clock::now();
  const auto left = lease_.remaining(now);
  const io::held_mutex hold(mutex_);
  if (!machine_.is_final() && left <= duration::zero()) {
    return {session_state::expired, {}, machine_.silence(now)};
  }
  return {machine_.state(), left, machine_.reason(now)};
}

std::string session_core::trouble() {
  const auto now = clock::now();
  {
    const io::held_mutex hold(mutex_);
    if (now < trouble_asked_ + trouble_age) return trouble_;
  }
  auto known = engine().trouble();
  const io::held_mutex hold(mutex_);
  trouble_ = machine_.lateness(now);
  const std::string& more = known.empty() ? machine_.refusal() : known;
  if (!trouble_.empty() && !more.empty()) trouble_ += "; ";
  trouble_ += more;
  trouble_asked_ = now;
  return trouble_;
}

std::string session_core::lateness() {
  const io::held_mutex hold(mutex_);
  return machine_.lateness(clock::now());
}

session_core::machine::step session_core::advance(
    const std::function<machine::step(machine&)>& event) {
  machine::step s;
  {
    const io::held_mutex hold(mutex_);
    s = event(machine_);
    if (s.changed) {
      // Posted under the mutex, so that changes are reported as they happened, in order.
      alarm_->post([self = shared_from_this(), c = *s.changed, keeps_record = !s.remove_record,
                    left = lease_.remaining(clock::now())] {
        self->tell(c, left);
        if (core::is_final(c.to) && keeps_record) self->have_forgotten(c);
      });
    }
    loop_->cancel(std::exchange(timer_, 0));
    if (s.wake != time_point::max()) wake_at(s.wake);
  }
  // Before the record is removed, and not left to the alarm, which a callback may keep busy.
  if (s.changed && core::is_final(s.changed->to)) locks_.stop();
  carry_out(s);
  return s;
}

void session_core::carry_out(const machine::step& s) {
  if (s.beat) {
    loop_->run([self = shared_from_this(), attempt = *s.beat] { self->send_beat(attempt); });
  }
  if (s.remove_record) loop_->post([self = shared_from_this()] { self->remove_record(); });
}

/// Denied, or taken over: nothing else would ever tell the engine. Behind what ends the waits, so
/// that they end for this reason.
void session_core::have_forgotten(const machine::change& c) {
  core::reply why;
  why.what = c.to == session_state::denied ? core::status::denied : core::status::gone;
  why.text = c.reason;
  loop_->post([self = shared_from_this(), why] { self->engine().forget(self->id_, why); });
}

void session_core::wake_at(time_point when) {
  timer_ = loop_->at(when, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self) self->tick(clock::now());
  });
}

void session_core::send_beat(std::uint64_t attempt) {
  core::beat_request r;
  r.id = id_;
  r.inc = inc_;
  r.attempt = attempt;
  engine().beat(r, [weak = weak_from_this(), attempt](const core::beat_reply& reply) {
    if (const auto self = weak.lock()) self->beat_answered(attempt, reply);
  });
}

void session_core::beat_answered(std::uint64_t attempt, const core::beat_reply& r) {
  const auto now = clock::now();
  std::optional<time_point> sent;
  advance([&](machine& m) {
    sent = m.sent_at(attempt);
    return m.beat_answered(attempt, r, now);
  });
  if (r.what == core::status::ok) look_around();
  if (!events_.wanted()) return;
  events_.emit(event::beat{id_, r.what == core::status::ok, now - sent.value_or(now),
                           lease_.remaining(now)});
}

void session_core::look_around() {
  if (!patrol_ || lease_.is_lost()) return;
  const auto weak = weak_from_this();
  patrol_->go({.took =
                   [weak](const session_id& id) {
                     const auto self = weak.lock();
                     if (self) self->events_.emit(event::took_over{id, false});
                   },
               .again =
                   [weak] {
                     if (const auto self = weak.lock()) self->look_around();
                   }});
}

void session_core::tell(const machine::change& c, duration remaining) noexcept {
  if (core::is_final(c.to)) {
    {
      const user_code here;
      stop_.request_stop();
    }
    locks_.stop();
    auto all = locks_.all();
    for (const auto& g : all.held) g->lose(c.to, c.reason);
    if (!all.pending.empty()) {
      const auto why = over_error(c.to, c.reason, id_);
      // Giving up a wait is I/O, which this thread never does.
      loop_->post([pending = std::move(all.pending), why] {
        for (const auto& a : pending) a->session_over(why);
      });
    }
  }
  if (events_.wanted()) events_.emit(event::session_changed{id_, c.to, remaining, c.reason});
}

time_point session_core::deadline() const noexcept { return lease_.until(); }

bool session_core::passed() noexcept {
  const auto now = clock::now();
  lease_.expire(now);
  tick(now);
  return lease_.is_lost();
}

void session_core::tick(time_point now) {
  // Asked only when it may be shown, and before our mutex is taken.
  const bool late = lease_.remaining(now) < ttl_ / 2;
  const std::string trouble = late ? engine().trouble() : std::string();
  advance([&](machine& m) { return m.tick(now, trouble); });
}

void session_core::note(const core::reply& r) {
  if (r.what != core::status::gone && r.what != core::status::denied) return;
  advance([&r](machine& m) { return m.ended_by_engine(r.what, r.text); });
}

void session_core::leave_later(std::shared_ptr<grant> g) {
  leave_after(leave_pause_first, std::move(g));
}

void session_core::leave_now(const std::shared_ptr<grant>& g) { send_leave(leave_pause_first, g); }

void session_core::leave_after(duration pause, std::shared_ptr<grant> g) {
  loop_->at(clock::now() + pause, [self = shared_from_this(), g = std::move(g), pause] {
    self->send_leave(std::min(2 * pause, leave_pause_most), g);
  });
}

/// `pause` is the one after it, if it is not answered.
void session_core::send_leave(duration pause, const std::shared_ptr<grant>& g) {
  // With the record of the session its entries are dead.
  if (lease_.is_lost()) return;
  engine().leave(g->leaving(), [self = shared_from_this(), g, pause](const core::leave_reply& r) {
    self->raise_gate(r.gate);
    if (!core::is_answer(r.what)) return self->leave_after(pause, g);
    self->locks_.remove(*g);
  });
}

core::close_request session_core::closing() const {
  core::close_request r;
  r.id = id_;
  r.inc = inc_;
  return r;
}

void session_core::remove_record() {
  engine().close(closing(), [self = shared_from_this()](const core::reply& reply) {
    // Nobody waits for the answer: what is left behind falls by the life lock or the ttl.
    (void)self->settle(reply);
  });
}

result<duration> session_core::time_of_beat() {
  core::beat_request r;
  r.id = id_;
  r.inc = inc_;
  const auto sent = clock::now();
  const auto reply = call(engine(), &core::engine::beat, r);
  if (reply.what != core::status::ok) return failure(reply, "a heartbeat", store_->url());
  return clock::now() - sent;
}

result<void> session_core::settle(const core::reply& r) {
  life_descriptor_ = -1;
  io::life_lock ours;
  {
    const io::held_mutex hold(mutex_);
    std::swap(ours, life_);
  }
  // `ours` removes the file of the life lock, which may go only behind the record: without it
  // nobody could prove this death.
  if (r.what == core::status::ok || r.what == core::status::gone) return {};
  ours.forget();
  return failure(r, "closing the session " + id_.str(), store_->url());
}

/// False when the program's end has stopped the alarm.
bool session_core::post_end(const machine::change& c) {
  // Let go by the one who closes, who may wait for threads.
  return alarm_->post([self = shared_from_this(), c]() mutable {
    self->tell(c, {});
    self.reset();
  });
}

result<void> session_core::close() {
  if (auto asked = store_->usable(); !asked) return asked;
  machine::step s;
  bool posted = false;
  {
    const io::held_mutex hold(mutex_);
    s = machine_.close(clock::now());
    // Under the mutex: a second close() waits for what was posted, and shuts the events then.
    if (s.changed) posted = post_end(*s.changed);
    loop_->cancel(std::exchange(timer_, 0));
  }
  alarm_->unwatch(watched_);
  locks_.stop();
  if (s.changed && !posted) tell(*s.changed, {});
  if (io::on_library_thread()) return close_unwaited(s);
  alarm_->run([] {}, tell_limit);  // Behind what was left to it to tell.
  result<void> closed;
  if (s.remove_record) closed = settle(call(engine(), &core::engine::close, closing()));
  events_.shut();
  return closed;
}

// The answer, and what it calls, may need this very thread.
result<void> session_core::close_unwaited(const machine::step& s) {
  // Behind the reports that were posted.
  const auto shut = [](const std::shared_ptr<session_core>& self) {
    self->alarm_->post([self] { self->events_.shut_unwaited(); });
  };
  if (!s.remove_record) {
    shut(shared_from_this());
    return {};
  }
  const auto closed = answer_at_once<result<void>>([this, shut](auto done) {
    engine().close(closing(), [self = shared_from_this(), done, shut](const core::reply& reply) {
      done(self->settle(reply));
      shut(self);
    });
  });
  if (closed) return *closed;
  return error(errc::outcome_unknown,
               "closing the session " + id_.str() + " in " + store_->url() +
                   ": it is under way, and a thread of the library must not wait for the answer; "
                   "its locks are over already");
}

}  // namespace holdfast::client
