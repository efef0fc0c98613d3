#include "client/acquisition.hpp"

#include "client/failure.hpp"
#include "client/for_people.hpp"
#include "client/session_core.hpp"
#include "client/shown.hpp"
#include "client/user_code.hpp"
#include "core/assert.hpp"
#include "io/process/life.hpp"
#include "io/process/life_looks.hpp"
#include "io/process/process_identity.hpp"
#include "io/thread/background.hpp"
#include "io/thread/recycled.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::client {

namespace {

// Most waits end sooner, and then a descriptor for the holder's process was made for nothing.
constexpr duration hint_after = std::chrono::milliseconds{2};
constexpr std::size_t hints_max = 16;

// With its owners' count: a larger one would not be made of memory that is at hand.
static_assert(sizeof(acquisition) + 32 <= io::block_cache::largest);

/// Somebody else has it: what was seen of him is for the next one who asks.
bool is_taken(errc why) noexcept {
  return why == errc::busy || why == errc::timed_out || why == errc::mode_conflict;
}

}  // namespace

acquisition::acquisition(std::shared_ptr<session_core> session, acquire_options options)
    : session_(std::move(session)), options_(std::move(options)) {}

core::claim::config acquisition::config() const {
  core::claim::config c;
  c.how = options_.mode;
  c.seed = request_ ^ session_->inc() << 32;
  c.waits = options_.wait > duration::zero();
  // The sum would overflow.
  const bool endless = options_.wait >= time_point::max() - began_;
  if (c.waits && !endless) c.give_up = began_ + options_.wait;
  return c;
}

void acquisition::start(std::shared_ptr<grant> g, completion<holdfast::lock> done) {
  done_ = std::move(done);
  self_ = shared_from_this();
  grant_ = std::move(g);
  began_ = now_ = clock::now();
  request_ = session_->next_request();
  claim_.emplace(config(), session_->lease());
  if (options_.stop.stop_possible()) stopper_.emplace(options_.stop, stopper{this});
  // The running bit is set from the beginning: an answer that comes inside this call only leaves
  // its bit, which run() obeys.
  perform(claim_->start(began_));
  run();
}

result<holdfast::lock> acquisition::wait() {
  if (io::on_library_thread()) return give_up_unless_there();
  // A thread that would only sleep runs the engine's loop meanwhile: no switch of threads for an
  // answer.
  if (!ended_.is_open()) (void)session_->engine().lend(ended_.place());
  ended_.wait();
  // A program may live for one try, and the next one begins where it ended.
  if (!*outcome_ && is_taken(outcome_->error().code())) session_->store().notes().settle();
  return std::move(*outcome_);
}

// What would end the wait may need this very thread.
result<holdfast::lock> acquisition::give_up_unless_there() {
  if (ended_.is_open()) return std::move(*outcome_);
  post(cancelled);
  if (ended_.is_open() && *outcome_) return std::move(*outcome_);
  return unwaited_error("waiting for " + grant_->name().printable(), session_->store().url());
}

void acquisition::session_over(const error& why) {
  // A session ends once, and whoever runs this may read the error already.
  HOLDFAST_ASSERT(session_error_ == nullptr);
  session_error_ = std::make_unique<const error>(why);
  post(over);
}

// On any thread, also on the alarm's, which does no I/O: whoever runs the claim obeys the bit, and
// else the loop does. An engine may do its work inside the call.
void acquisition::stop_requested() noexcept {
  if (session_->forked()) return;  // Its parent waits.
  if ((signals_.fetch_or(cancelled, std::memory_order_acq_rel) & running) != 0) return;
  if (session_->loop()->over()) return post(cancelled);  // It runs nothing any more.
  session_->loop()->post([weak = weak_from_this()] {
    // Nothing new: whoever ran the claim since then has obeyed the bit, and that once.
    if (const auto self = weak.lock()) self->post(none);
  });
}

void acquisition::post(signal s) {
  const auto before = signals_.fetch_or(s | running, std::memory_order_acq_rel);
  if ((before & running) == 0) run();
}

// Called by the one thread that set the running bit. It stays set when the claim has finished, so
// that late events find nobody to run.
void acquisition::run() {
  const auto keep = self_;
  while (!finished_) {
    const auto pending = signals_.exchange(running, std::memory_order_acq_rel);
    if (pending != running) {
      obey(pending);
      continue;
    }
    rest();
    starting_ = false;
    auto expected = static_cast<std::uint32_t>(running);
    if (signals_.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) return;
  }
}

void acquisition::obey(std::uint32_t signals) {
  const auto now = now_ = clock::now();
  // Reasons to end go first, so that a grant that is on its way is given back.
  if ((signals & over) != 0) {
    perform(claim_->session_over(session_error_->code(), session_error_->message()));
  }
  if (!finished_ && (signals & cancelled) != 0) perform(claim_->cancel());
  if (!finished_ && (signals & replied) != 0) {
    // Else the thread that brought it may be a user's, inside a release of its own.
    tells_at_once_ = session_->loop()->on_thread() && !user_code::runs_here();
    perform(feed(now));
    tells_at_once_ = false;
  }
  if (!finished_ && (signals & noticed) != 0) perform(claim_->notified(now));
  if (finished_ || (signals & ticked) == 0) return;
  if (now >= hint_at()) hint();
  if (now >= claim_->wake()) perform(claim_->tick(now));
}

core::action acquisition::feed(time_point now) {
  const answer a = std::exchange(answer_, {});
  switch (asked_) {
    case step::enqueue: {
      const auto& view = std::get<core::queue_view>(a);
      // The claim enqueues again at once, with the gate that is known then.
      if (view.what == core::status::stale_gate) session_->raise_gate(view.gate);
      session_->note(view);
      // A holder that hung before this began may be due by what an earlier claim has seen: else no
      // number of tries, or of waits that are shorter than a ttl, would replace it.
      if (!view.ahead.empty()) claim_->recall(session_->store().notes().recall(view.ahead));
      return claim_->enqueued(view, now);
    }
    case step::probe:
      return claim_->probed(std::get<dead_ones>(a).ids, now);
    case step::take:
      return claim_->taken(waiting().taking, std::get<core::take_reply>(a), now);
    case step::confirm: {
      const auto& view = std::get<core::queue_view>(a);
      session_->note(view);
      return claim_->confirmed(view, now);
    }
    case step::leave:
      break;
  }
  const auto& left = std::get<core::leave_reply>(a);
  session_->raise_gate(left.gate);
  session_->note(left);
  return claim_->left(left, now);
}

void acquisition::perform(const core::action& a) {
  std::visit([this](const auto& act) { carry_out(act); }, a);
}

void acquisition::answered(answer a) {
  // One operation is under way at a time, and its engine answers it once.
  HOLDFAST_ASSERT(std::holds_alternative<std::monostate>(answer_));
  answer_ = std::move(a);
  post(replied);
}

void acquisition::carry_out(const core::act::enqueue& a) {
  asked_ = step::enqueue;
  core::enqueue_request r;
  r.name = grant_->name();
  r.id = session_->id();
  r.inc = session_->inc();
  r.gate = session_->gate();
  r.request = request_;
  r.how = options_.mode;
  r.leave_if_busy = a.leave_if_busy;
  r.since = io::wall_now();
  grant_->listen(r);
  session_->engine().enqueue(r, [this](core::queue_view v) { answered(std::move(v)); });
}

void acquisition::carry_out(const core::act::probe& a) {
  asked_ = step::probe;
  dead_ones dead;
  const auto& directory = session_->store().opened().life_directory;
  auto& looks = io::life_looks::of_process();
  for (const auto& rival : a.whom) {
    // No life lock, no proof: then the ttl decides.
    if (directory.empty() || rival.where.inode == 0) continue;
    if (looks.at(directory, rival.owner, rival.where, a.age, clock::now()) == life::dead) {
      dead.ids.push_back(rival.owner);
    }
  }
  answered(std::move(dead));
}

void acquisition::carry_out(const core::act::take& a) {
  asked_ = step::take;
  waiting().taking = a.id;
  core::take_request r;
  r.id = a.id;
  r.seen = a.seen;
  session_->engine().take(r, [this, whom = a.id, broken = a.broken](const core::take_reply& reply) {
    if (reply.what == core::status::ok) {
      const auto& directory = session_->store().opened().life_directory;
      // Never before the record: without the file nobody could prove the death of its owner any
      // more.
      if (!directory.empty()) io::remove_life(directory, whom);
      session_->events().emit(event::took_over{whom, broken});
    }
    answered(reply);
  });
}

void acquisition::carry_out(const core::act::watch& a) {
  core::watch_request r;
  r.name = grant_->name();
  r.mine = claim_->order();
  r.targets = a.targets;
  r.id = session_->id();
  r.request = request_;
  // Later the thread may sleep on its latch: it lends once, and not while another has the place.
  r.blocks = !done_ && starting_;
  waiting_state& w = waiting();
  w.watch = session_->engine().watch(r, [this] { post(noticed); });
  w.rivals = a.whom;
  const bool local = !session_->store().opened().life_directory.empty();
  // A process that ended is a reason to look at life locks, and nothing else: where there are none,
  // nobody has to know.
  if (local) w.hint_at = clock::now() + hint_after;
}

void acquisition::carry_out(const core::act::confirm&) {
  asked_ = step::confirm;
  core::confirm_request r;
  r.name = grant_->name();
  r.id = session_->id();
  r.inc = session_->inc();
  r.order = claim_->order();
  r.request = request_;
  session_->engine().confirm(r, [this](core::queue_view v) { answered(std::move(v)); });
}

void acquisition::carry_out(const core::act::leave& a) {
  asked_ = step::leave;
  core::leave_request r;
  r.name = grant_->name();
  r.id = session_->id();
  r.inc = session_->inc();
  r.request = request_;
  r.order = claim_->order();
  r.move_gate = a.move_gate;
  r.asks_who = a.asks_who;
  session_->engine().leave(r, [this](const core::leave_reply& reply) { answered(reply); });
}

void acquisition::carry_out(const core::act::rest&) {}

void acquisition::carry_out(const core::act::finish& a) {
  keep_notes(a);
  end(outcome(a));
}

void acquisition::rest() {
  if (!claim_->at_rest()) return;
  tell_waiting();
  session_->loop()->cancel(timer_);
  timer_ = session_->loop()->at(std::min(claim_->wake(), hint_at()), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->post(ticked);
  });
}

acquisition::waiting_state& acquisition::waiting() {
  if (!waiting_) waiting_ = std::make_unique<waiting_state>();
  return *waiting_;
}

void acquisition::hint() {
  waiting_state& w = waiting();
  w.hint_at = time_point::max();
  for (const auto& rival : w.rivals) {
    if (w.hints.size() >= hints_max) return;
    if (rival.pid <= 0 || !w.hinted.insert(rival.owner).second) continue;
    auto watch = std::make_unique<io::process_watch>();
    const auto armed = watch->arm(session_->loop(), rival.pid, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->post(noticed);
    });
    if (armed == io::process_watch::armed::yes) w.hints.push_back(std::move(watch));
    // It may also be of another pid namespace: only the look at the life lock tells.
    if (armed == io::process_watch::armed::no_such_process) post(noticed);
  }
}

void acquisition::tell_waiting() {
  const auto& ahead = claim_->ahead();
  if (!session_->events().wanted() || !claim_->queued()) return;
  if (ahead.size() == waiting().shown_ahead) return;
  waiting().shown_ahead = ahead.size();
  event::waiting e{grant_->name(), ahead.size(), {}, {}, clock::now() - began_};
  if (!ahead.empty()) e.since = ahead.front().since;
  if (const auto& first = claim_->first()) e.first = shown(*first, session_->store().opened());
  session_->events().emit(e);
}

void acquisition::keep_notes(const core::act::finish& a) {
  if (a.granted || !is_taken(a.why)) return;
  session_->store().notes().keep(claim_->notes());
}

result<holdfast::lock> acquisition::outcome(const core::act::finish& a) {
  auto& locks = session_->locks();
  if (!a.granted) {
    if (claim_->owes_leave()) {
      // The name stays taken in this session until the store has let the entry go: a second one of
      // the session would wait behind it.
      grant_->abandoned(claim_->order(), request_, claim_->owes_gate());
      locks.keep(*grant_);
      if (claim_->leave_unsent()) {
        session_->leave_now(grant_);
      } else {
        session_->leave_later(grant_);
      }
    } else {
      locks.remove(*grant_);
    }
    return a.needs_operator ? error::for_operator(a.why, describe(a)) : error(a.why, describe(a));
  }
  grant_->granted(a.held, a.own, request_, now_);
  // The session ended while the store granted. Whoever hears of that end was gathered before, and
  // would never tell this lock; with the record the entry is dead.
  if (!locks.hold(*grant_)) return session_->why_over();
  auto& events = session_->events();
  if (events.wanted()) {
    events.emit(event::granted{grant_->name(), a.held, options_.mode, now_ - began_});
    grant_->announced();
    grant_->watch_lease();
  }
  return grant::make_lock(grant_);
}

std::string acquisition::describe(const core::act::finish& a) const {
  std::string text = "acquire " + grant_->name().printable() + " in " + session_->store().url() +
                     ": " + (a.text.empty() ? error(a.why).message() : a.text);
  const auto& ahead = claim_->ahead();
  const bool in_the_way = a.why == errc::timed_out || a.why == errc::busy;
  if (in_the_way && !ahead.empty() && ahead.front().since != wall_time{}) {
    // Engines keep the arrival, not the grant: it may have waited for most of that.
    text +=
        "; the holder asked for it " + for_people(io::wall_now() - ahead.front().since) + " ago";
  }
  if (a.why == errc::timed_out) text += "; waited " + for_people(clock::now() - began_);
  return text;
}

void acquisition::end(result<holdfast::lock> r) {
  HOLDFAST_ASSERT(!finished_ && claim_->finished());
  finished_ = true;
  const auto keep = std::exchange(self_, nullptr);
  if (!done_) {
    outcome_.emplace(std::move(r));
    ended_.open();
  }
  waiting_.reset();
  stopper_.reset();
  if (timer_ != 0) session_->loop()->cancel(timer_);
  if (!done_) return;
  // At once only where no function of the user's can be around it, for that may hold a mutex that
  // this one takes: inside the call that began it, or in the loop's own turn that brought the
  // answer.
  if (starting_ || tells_at_once_) {
    const user_code here;
    return done_(std::move(r));
  }
  struct late {
    completion<holdfast::lock> done;
    result<holdfast::lock> with;
    std::shared_ptr<session_core> of;  // Its loop ends with its last user, and drops what it has.
  };
  const auto kept = std::make_shared<late>(late{std::move(done_), std::move(r), session_});
  session_->loop()->post([kept] {
    const user_code inside;
    kept->done(std::move(kept->with));
  });
}

}  // namespace holdfast::client
