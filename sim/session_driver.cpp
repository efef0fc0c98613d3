#include "sim/session_driver.hpp"

#include "sim/network.hpp"
#include "sim/worker.hpp"

#include <algorithm>

namespace holdfast::sim {

using namespace std::chrono_literals;
using core::status;

session_driver::session_driver(context& c, oracle& judge, process& p, store& s)
    : context_(c), judge_(judge), process_(p), store_(s) {
  const int n = context_.dice.between(1, context_.setup.workers);
  for (int i = 0; i < n; ++i) {
    workers_.push_back(std::make_unique<worker>(context_, judge_, *this));
  }
}

session_driver::~session_driver() = default;

void session_driver::open_new() {
  ++epoch_;
  machine_.reset();
  if (context_.setup.patrols) patrol_.emplace(200ms, 50ms);
  reopening_ = false;
  open_tries_ = 0;
  written_ = requests_ = 0;
  truth_ = &context_.sessions.emplace_back();
  truth_->index = static_cast<int>(context_.sessions.size()) - 1;
  truth_->owner = &process_;
  truth_->incarnation = process_.incarnation();
  truth_->machine = &process_.machine();
  truth_->store = store_.index();
  truth_->ttl = context_.dice.between(context_.setup.ttl_least, context_.setup.ttl_most);
  for (auto& b : truth_->id.bytes) b = static_cast<std::uint8_t>(context_.dice.next());
  open_sent_ = process_.now();
  send_open();
}

void session_driver::send_open() {
  core::open_request r;
  r.draft.id = truth_->id;
  r.draft.ttl = truth_->ttl;
  r.draft.where = {.device = static_cast<std::uint64_t>(truth_->machine->index) + 1,
                   .inode = static_cast<std::uint64_t>(truth_->index) + 1};
  ask(context_, store_, process_.guarded(epoch_), std::move(r),
      [this](const core::open_reply& a) { opened(a); });
}

void session_driver::opened(const core::open_reply& r) {
  if (r.what != status::ok) {
    // A repeated open may find the first one's record: the lease counts from the first sending.
    const bool again = r.what == status::unknown && ++open_tries_ < 3;
    process_.post(context_.time.now() + context_.dice.between(1ms, 20ms), process_.guarded(epoch_),
                  [this, again] { again ? send_open() : open_new(); });
    return;
  }
  inc_ = r.at.inc;
  gate_ = r.gate;
  machine_.emplace(truth_->ttl, truth_->lease);
  context_.log.note(context_.time.now(), "session opens, process", truth_->index, process_.index(),
                    truth_->ttl / 1ms);
  apply(machine_->opened(open_sent_, process_.now()));
  if (!usable()) return rested();
  for (auto& w : workers_) w->start();
}

void session_driver::close() {
  if (usable()) apply(machine_->close(process_.now()));
}

void session_driver::deny() {
  if (!usable()) return;
  deny_message m{{truth_->id, "operator", "test"}, truth_->index};
  ask(context_, store_, guard{&process_, process_.incarnation(), nullptr, 0}, std::move(m),
      [](const core::deny_reply&) {});
}

void session_driver::ended_by_engine(status what) {
  if (usable()) apply(machine_->ended_by_engine(what));
}

void session_driver::saw_gate(std::uint64_t gate) noexcept { gate_ = std::max(gate_, gate); }

void session_driver::send_beat(std::uint64_t attempt) {
  if (truth_->final) context_.fail("a beat is sent after the session's end");
  beat_message m{{truth_->id, inc_, attempt}, written_, truth_->index};
  ask(context_, store_, process_.guarded(epoch_), std::move(m),
      [this, attempt](const beat_answer& a) { beat_answered(attempt, a); });
}

void session_driver::beat_answered(std::uint64_t attempt, const beat_answer& a) {
  if (!machine_) return;
  if (a.what == status::ok) written_ = std::max(written_, a.written);
  const bool was_over = !judge_.valid(*truth_);
  auto s = machine_->beat_answered(attempt, a, process_.now());
  if (was_over && judge_.valid(*truth_)) {
    context_.fail("a lease that was over is extended: a lost lock comes back");
  }
  apply(std::move(s));
  if (patrol_ && a.what == status::ok && usable() && process_.survives_step()) look_around();
}

void session_driver::look_around() {
  if (!patrol_->may_begin(process_.now())) return;
  session_id from;
  for (auto& b : from.bytes) b = static_cast<std::uint8_t>(context_.dice.next());
  ask(context_, store_, process_.guarded(epoch_), patrol_->begin(from, process_.now()),
      [this](const core::glance_reply& r) { seen_around(r); });
}

void session_driver::seen_around(const core::glance_reply& r) {
  for (const auto& t : patrol_->seen(r, process_.now())) {
    ask(context_, store_, process_.guarded(epoch_), core::take_request(t),
        [this, id = t.id](const core::take_reply& a) { patrol_->taken(id, a); });
  }
}

void session_driver::apply(core::session_machine::step s) {
  if (s.changed) {
    if (truth_->final) context_.fail("a final session changes its state");
    truth_->final = machine_->is_final();
    context_.log.note(context_.time.now(), name_of(s.changed->to), truth_->index);
    if (truth_->final && judge_.valid(*truth_)) context_.fail("a final session still holds");
  }
  if (!process_.survives_step()) return;
  if (s.beat) send_beat(*s.beat);
  if (!process_.survives_step()) return;
  if (s.remove_record) remove_record(3);
  arm(s.wake);
  if (truth_->final && s.changed) tell_workers(*s.changed);
}

void session_driver::tell_workers(const core::session_machine::change& c) {
  const errc why = c.to == session_state::denied ? errc::denied : errc::lost;
  for (auto& w : workers_) {
    if (process_.survives_step()) w->session_over(why, c.reason);
    if (!process_.alive()) return;
  }
  rested();
}

void session_driver::remove_record(int tries) {
  ask(context_, store_, process_.guarded(epoch_), core::close_request{truth_->id, inc_},
      [this, tries](const core::reply& r) {
        if (r.what != status::ok && r.what != status::gone && tries > 1) remove_record(tries - 1);
      });
}

void session_driver::arm(time_point wake) {
  ++timer_;
  if (wake == time_point::max()) return;
  const moment least = context_.time.now() + 1us;
  const moment when = std::max(least, process_.machine().clock.when(wake));
  process_.post(when + context_.dice.between(0us, 500us), process_.guarded(timer_), [this] {
    if (machine_ && process_.survives_step()) apply(machine_->tick(process_.now()));
  });
}

void session_driver::rested() {
  if (usable() || !machine_ || reopening_) return;
  if (!std::ranges::all_of(workers_, [](const auto& w) { return w->resting(); })) return;
  reopening_ = true;
  // One that was denied leaves a record, which its owner removes when nobody works any more.
  if (machine_->state() == session_state::denied) apply(machine_->close(process_.now()));
  if (!process_.alive()) return;
  process_.post(context_.time.now() + context_.dice.between(1ms, 500ms), process_.guarded(epoch_),
                [this] { open_new(); });
}

}  // namespace holdfast::sim
