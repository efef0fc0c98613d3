#include "client/grant.hpp"

#include "client/await.hpp"
#include "client/failure.hpp"
#include "client/for_people.hpp"
#include "client/session_core.hpp"
#include "client/user_code.hpp"
#include "core/assert.hpp"
#include "io/thread/background.hpp"
#include "io/thread/recycled.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::client {

namespace {

std::string with_cause(const std::string& what, const std::string& cause) {
  return cause.empty() ? what : what + "; " + cause;
}

loss_cause cause_of(session_state over) noexcept {
  if (over == session_state::denied) return loss_cause::denied;
  return over == session_state::closed ? loss_cause::closed : loss_cause::expired;
}

}  // namespace

grant::grant(std::shared_ptr<session_core> owner, lock_name name, holdfast::mode mode)
    : owner_(std::move(owner)), name_(std::move(name)), mode_(mode), counts_(&owner_->lease()) {}

grant::~grant() {
  if (watched_ != 0) owner_->alarm()->unwatch(watched_);
  if (place_.listed) owner_->locks().remove(*this);
}

holdfast::lock grant::make_lock(std::shared_ptr<grant> g) noexcept {
  return holdfast::lock(std::move(g));
}

result<fencing_token> grant::fencing_token() const {
  if (forked()) return forked_error();
  if (entry_.token == holdfast::token{}) {
    return error(errc::unsupported, owner_->store().url() +
                                        " gives no tokens, so that no storage "
                                        "can refuse a stale holder of " +
                                        name_.printable());
  }
  auto store = owner_->store().identity();
  if (!store) return store.error();
  return holdfast::fencing_token{{std::move(*store), name_}, entry_.token};
}

/// Both only post: a thread of the engine never owns a grant, whose end may be the engine's own.
class grant::listener final : public core::lock_listener {
 public:
  listener(std::shared_ptr<io::alarm> alarm, std::weak_ptr<grant> of, std::uint64_t attempt)
      : alarm_(std::move(alarm)), of_(std::move(of)), attempt_(attempt) {}

  void lost(const core::reply& why) override {
    alarm_->post([weak = of_, attempt = attempt_, why] {
      if (const auto g = weak.lock()) g->lost_by_engine(attempt, why);
    });
  }
  void shortened() override {
    alarm_->post([weak = of_] {
      if (const auto g = weak.lock()) g->shortened();
    });
  }

 private:
  const std::shared_ptr<io::alarm> alarm_;
  const std::weak_ptr<grant> of_;
  const std::uint64_t attempt_;
};

void grant::listen(core::enqueue_request& r) {
  std::uint64_t attempt{};
  {
    const io::held_mutex hold(mutex_);
    attempt = ++attempt_;
  }
  r.listener = io::make_recycled<listener>(owner_->alarm(), weak_from_this(), attempt);
}

void grant::granted(holdfast::token t, std::shared_ptr<core::lease> own, std::uint64_t request,
                    time_point now) noexcept {
  HOLDFAST_ASSERT(state_.load() == state::acquiring && !own_);
  entry_.token = t;
  entry_.request = request;
  entry_.since = now;
  own_ = std::move(own);
  if (own_) counts_ = own_.get();
  state_.store(state::held, std::memory_order_release);
}

void grant::abandoned(holdfast::token order, std::uint64_t request, bool move_gate) noexcept {
  HOLDFAST_ASSERT(state_.load() == state::acquiring && !own_);
  entry_.token = order;
  entry_.request = request;
  entry_.move_gate = move_gate;
  state_.store(state::over, std::memory_order_release);
}

core::leave_request grant::leaving() const {
  core::leave_request r;
  r.name = name_;
  r.id = owner_->id();
  r.inc = owner_->inc();
  r.request = entry_.request;
  r.order = entry_.token;
  r.move_gate = entry_.move_gate;
  return r;
}

void grant::lose_own_lease() noexcept {
  if (own_) own_->lose();
}

void grant::watch_lease() {
  if (!own_) return;
  const io::held_mutex hold(mutex_);
  if (watched_ == 0) watched_ = owner_->alarm()->watch(weak_from_this(), own_->until());
}

void grant::shortened() {
  std::uint64_t watched{};
  {
    const io::held_mutex hold(mutex_);
    watched = watched_;
  }
  if (watched != 0) owner_->alarm()->moved(watched);
}

bool grant::forked() const noexcept { return owner_->forked(); }
bool grant::left_alone() const noexcept { return owner_->store().left_alone(); }

error grant::why_lost() const {
  const std::string lock = "the lock " + name_.printable();
  const std::string text = lock + " is lost";
  std::optional<std::string> reason;
  {
    const io::held_mutex hold(mutex_);
    if (loss_) reason = loss_->reason;
  }
  if (is_over() && !reason) return {errc::lost, lock + " was released"};
  if (auto session = owner_->usable(); !session) {
    return {errc::lost, text + ": " + session.error().message()};
  }
  if (reason) return {errc::lost, text + ": " + *reason};
  return {errc::lost, own_ ? text + ": " + not_extended(owner_->lateness()) : text};
}

std::string grant::not_extended(const std::string& cause) const {
  const std::string limit = owner_->engine().limit_on(leaving());
  return with_cause(with_cause("its lease was not extended in time", limit), cause);
}

error grant::loss_error(const loss& l) const {
  return {l.why == session_state::denied ? errc::denied : errc::lost,
          "the lock " + name_.printable() + " is lost: " + l.reason};
}

result<void> grant::check(duration needed) const noexcept {
  if (forked()) [[unlikely]]
    return forked_error();
  const auto now = clock::now();
  needed = std::max(needed, duration::zero());
  // Before any lease: a lock that was released keeps this object, and the session's lease runs on
  // beside the next holder.
  if (!is_held()) return why_lost();
  // A session that ends takes its locks with it, however long their own leases are.
  const bool lasts = counts_->check(needed, now);
  if (lasts && (!own_ || owner_->lease().check(needed, now))) [[likely]]
    return {};
  const auto left = std::min(counts_->remaining(now), owner_->lease().remaining(now));
  if (left <= duration::zero()) return why_lost();
  return error(errc::expiring, "only " + for_people(left) + " of the lease of " +
                                   name_.printable() + " is left, " + print_duration(needed) +
                                   " is needed");
}

duration grant::remaining() const noexcept {
  if (forked() || !is_held()) return duration::zero();
  const auto now = clock::now();
  return std::min(counts_->remaining(now), owner_->lease().remaining(now));
}

std::stop_token grant::lost() noexcept {
  if (forked()) return forked_stop();
  std::stop_source source{std::nostopstate};
  {
    const io::held_mutex hold(mutex_);
    if (!stop_.stop_possible()) stop_ = std::stop_source();
    source = stop_;
  }
  // The source is there before the state is read: a loss in between finds it and stops it.
  if (state_.load() == state::lost) {
    source.request_stop();
  } else {
    watch_lease();
  }
  return source.get_token();
}

void grant::on_lost(std::function<void(const error&)> f) {
  if (forked()) {
    if (f) f(forked_error());
    return;
  }
  std::optional<loss> over;
  // Both are destroyed when the mutex is free, for their captures are the user's.
  std::function<void(const error&)> dropped;
  std::function<void(const error&)> told;
  {
    const io::held_mutex hold(mutex_);
    if (is_over()) return;
    tells_ = true;
    dropped = std::exchange(on_lost_, std::move(f));
    if (state_.load() == state::lost) {
      // lose() may still be on its way to the function: it is to find neither, for the one is not
      // wanted any more, and the other is called here.
      told = std::exchange(on_lost_, nullptr);
      HOLDFAST_ASSERT(loss_ != nullptr);
      over = *loss_;
    }
  }
  if (!over) return watch_lease();
  if (told) told(loss_error(*over));
}

grant::loss grant::remember(session_state why, const std::string& reason) {
  const io::held_mutex hold(mutex_);
  if (!loss_) loss_ = std::make_unique<const loss>(loss{why, reason});
  return *loss_;
}

void grant::lose(session_state why, const std::string& reason) noexcept {
  lose_own_lease();
  // The lease of one that was released passes, too: that is no loss to tell of.
  if (is_over()) return;
  // Before the state says it: whoever reads `lost` may ask for the reason at once.
  const auto first = remember(why, reason);
  auto expected = state::held;
  if (!state_.compare_exchange_strong(expected, state::lost)) return;
  std::stop_source source{std::nostopstate};
  {
    const io::held_mutex hold(mutex_);
    source = stop_;
  }
  const user_code here;
  source.request_stop();
  // Only now: whoever heard of the stop may have ended the lock.
  std::function<void(const error&)> listening;
  {
    const io::held_mutex hold(mutex_);
    listening = std::exchange(on_lost_, nullptr);
  }
  if (listening) listening(loss_error(first));
  if (owner_->events().wanted() && may_tell_loss()) tell_loss();
}

bool grant::may_tell_loss() {
  const io::held_mutex hold(mutex_);
  loss_waits_ = !announced_;
  return announced_;
}

void grant::tell_loss() noexcept {
  const loss* first = nullptr;  // It is not replaced.
  {
    const io::held_mutex hold(mutex_);
    first = loss_.get();
  }
  HOLDFAST_ASSERT(first != nullptr);
  owner_->events().emit(event::lost{name_, entry_.token, cause_of(first->why), first->reason});
}

void grant::announced() {
  {
    const io::held_mutex hold(mutex_);
    HOLDFAST_ASSERT(!announced_);
    announced_ = true;
    if (!loss_waits_) return;
  }
  tell_loss();
}

void grant::lost_by_engine(std::uint64_t attempt, const core::reply& r) {
  {
    const io::held_mutex hold(mutex_);
    if (attempt != attempt_) return;
  }
  // Before the grant is known here, its lease, which is lost, speaks for itself.
  if (state_.load() != state::held) return;
  if (r.what == core::status::denied) return lose(session_state::denied, r.text);
  const std::string text = r.text.empty() ? "the store does not have it any more" : r.text;
  lose(session_state::expired, with_cause(text, owner_->lateness()));
}

time_point grant::deadline() const noexcept { return own_->until(); }

bool grant::passed() noexcept {
  // The alarm calls one after another, and their callbacks take time: the engine may have extended
  // it since the alarm has looked. Who else found that it passed, a check say, told nobody.
  if (!own_->expire(clock::now()) && !own_->is_lost()) return false;
  lose(session_state::expired, not_extended(owner_->trouble()));
  return true;
}

void grant::notice_loss() {
  const auto now = clock::now();
  if (!owner_->lease().check(duration::zero(), now)) {
    const auto session = owner_->status();
    lose(session.state, session.reason);
  } else if (!counts_->check(duration::zero(), now)) {
    lose(session_state::expired, not_extended(owner_->trouble()));
  }
}

/// Whoever hears that the name is free must not meet a holder whose checks still succeed.
void grant::check_ended() const noexcept {
  HOLDFAST_ASSERT(is_over() && (!own_ || own_->is_lost()));
}

core::leave_reply grant::give_back() {
  check_ended();
  const auto reply = call(owner_->engine(), &core::engine::leave, leaving());
  left(reply);
  return reply;
}

/// Lives until the answer. `ending_.done` gets it; without one it was lost before, and what is left
/// in the store then is no release to tell of.
void grant::give_back_unwaited() {
  check_ended();
  HOLDFAST_ASSERT(!ending_.self);
  ending_.self = shared_from_this();
  owner_->engine().leave(leaving(), [this](const core::leave_reply& reply) {
    const auto keep = std::move(ending_.self);
    left(reply);
    if (!ending_.done) return;
    auto outcome = report_release(reply);
    const user_code here;
    auto done = std::move(ending_.done);
    done(std::move(outcome));
  });
}

void grant::left(const core::leave_reply& r) {
  if (core::is_answer(r.what)) {
    owner_->locks().remove(*this);
  } else {
    // The entry may be there: it is asked for again, and until then the name stays taken in this
    // session.
    owner_->leave_later(shared_from_this());
  }
  owner_->note(r);
}

result<void> grant::report_release(const core::leave_reply& r) {
  if (r.what != core::status::ok) {
    return failure(r, "release of " + name_.printable(), owner_->store().url());
  }
  auto& events = owner_->events();
  if (events.wanted())
    events.emit(event::released{name_, entry_.token, clock::now() - entry_.since});
  return {};
}

/// From held to over; else why that is not possible any more.
result<void> grant::end_held() {
  if (auto asked = owner_->store().usable(); !asked) return asked;
  // The alarm may be late: a lease that has passed is a loss, and no release, for somebody else may
  // have the name.
  notice_loss();
  auto expected = state::held;
  if (!state_.compare_exchange_strong(expected, state::over)) {
    return why_lost();
  }
  lose_own_lease();
  return {};
}

result<void> grant::release() {
  if (io::on_library_thread()) return release_unwaited();
  if (auto ended = end_held(); !ended) return ended;
  return report_release(give_back());
}

void grant::release(completion<void> done) {
  if (auto ended = end_held(); !ended) return done(std::move(ended));
  ending_.done = std::move(done);
  give_back_unwaited();
}

// The answer may need this very thread.
result<void> grant::release_unwaited() {
  const auto answer = answer_at_once<result<void>>(
      [this](auto done) { release(completion<void>(std::move(done))); });
  if (answer) return *answer;
  return error(errc::outcome_unknown,
               "release of " + name_.printable() +
                   ": it is under way, and a thread of the library must not wait for the answer; "
                   "give release() a callback");
}

// Its session lives, so nothing else would remove what is left in the store.
void grant::give_up_lost(waits may) {
  if (!own_ || !owner_->lease().check(duration::zero(), clock::now())) return;
  if (state_.exchange(state::over) == state::over) return;
  // It is already, but where the store was left alone in this very moment.
  lose_own_lease();
  if (may == waits::no || io::on_library_thread()) return give_back_unwaited();
  give_back();
}

/// What the observer and the stop token report goes on, and so does a call that has begun.
void grant::silence() noexcept {
  if (!tells_.load()) return;
  std::function<void(const error&)> dropped;  // Its captures are destroyed when the mutex is free.
  const io::held_mutex hold(mutex_);
  dropped.swap(on_lost_);
}

void grant::abandon(waits may) noexcept {
  silence();
  if (is_over()) return;
  const auto now = clock::now();
  // With the session's record its entries are dead: there is nothing to give back.
  if (!owner_->lease().check(duration::zero(), now)) return;
  const bool held = state_.load() == state::held && counts_->check(duration::zero(), now);
  if (held && release()) return;
  give_up_lost(may);
}

}  // namespace holdfast::client
