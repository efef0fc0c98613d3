#include "client/grant.hpp"

#include "client/await.hpp"
#include "client/failure.hpp"
#include "client/session_core.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::client {

grant::grant(std::shared_ptr<session_core> owner, lock_name name, mode how)
    : owner_(std::move(owner)), name_(std::move(name)), how_(how) {}

grant::~grant() {
  if (listed) owner_->locks().remove(*this);
}

holdfast::lock grant::make_lock(std::shared_ptr<grant> g) noexcept {
  return holdfast::lock(std::move(g));
}

void grant::granted(holdfast::token t, std::uint64_t request, time_point now) noexcept {
  token_ = t;
  request_ = request;
  since_ = now;
  state_.store(state::held, std::memory_order_release);
}

void grant::abandoned(holdfast::token order, std::uint64_t request) noexcept {
  token_ = order;
  request_ = request;
  state_.store(state::over, std::memory_order_release);
}

bool grant::forked() const noexcept { return owner_->forked(); }

error grant::why_lost() const {
  auto session = owner_->usable();
  auto text = "the lock " + name_.printable() + " is lost";
  if (!session) text += ": " + session.error().message();
  return {errc::lost, std::move(text)};
}

result<void> grant::check(duration needed) const noexcept {
  if (forked()) [[unlikely]]
    return forked_error();
  const auto now = clock::now();
  needed = std::max(needed, duration::zero());
  if (owner_->lease().check(needed, now)) [[likely]]
    return {};
  const auto left = owner_->lease().remaining(now);
  if (left <= duration::zero()) return why_lost();
  return error(errc::lost, "only " + print_duration(left) + " of the lease of " +
                               name_.printable() + " is left, " + print_duration(needed) +
                               " is needed");
}

duration grant::remaining() const noexcept {
  return forked() ? duration::zero() : owner_->lease().remaining(clock::now());
}

std::stop_token grant::lost() const noexcept {
  if (forked()) {
    std::stop_source over;
    over.request_stop();
    return over.get_token();
  }
  std::stop_source source{std::nostopstate};
  {
    const std::lock_guard hold(mutex_);
    if (!stop_.stop_possible()) stop_ = std::stop_source();
    source = stop_;
  }
  if (state_.load() == state::lost) source.request_stop();
  return source.get_token();
}

void grant::on_lost(std::function<void(const error&)> f) {
  if (forked()) {
    if (f) f(forked_error());
    return;
  }
  {
    const std::lock_guard hold(mutex_);
    told_.swap(f);
    if (state_.load() != state::lost) return;
    told_.swap(f);
  }
  if (f) f(why_lost());
}

void grant::lose(session_state why, const std::string& reason) noexcept {
  auto expected = state::held;
  if (!state_.compare_exchange_strong(expected, state::lost)) return;
  std::function<void(const error&)> told;
  std::stop_source source{std::nostopstate};
  {
    const std::lock_guard hold(mutex_);
    told = std::exchange(told_, nullptr);
    source = stop_;
  }
  source.request_stop();
  if (told) {
    told(error(why == session_state::denied ? errc::denied : errc::lost,
               "the lock " + name_.printable() + " is lost: " + reason));
  }
  if (owner_->events().wanted()) owner_->events().emit(event::lost{name_, token_, why, reason});
}

result<void> grant::release() {
  if (forked()) return forked_error();
  if (!owner_->lease().check(duration::zero(), clock::now())) {
    const auto now = owner_->status();
    lose(now.state, now.reason);
  }
  auto expected = state::held;
  if (!state_.compare_exchange_strong(expected, state::over)) return why_lost();
  core::leave_request leave;
  leave.name = name_;
  leave.id = owner_->id();
  leave.inc = owner_->inc();
  leave.request = request_;
  leave.order = token_;
  const auto reply =
      await<core::leave_reply>([&](auto done) { owner_->engine().leave(leave, std::move(done)); });
  const bool certain =
      reply.what != core::status::unavailable && reply.what != core::status::unknown;
  if (certain) {
    owner_->locks().remove(*this);
  } else {
    owner_->leave_later(shared_from_this());
  }
  if (reply.what == core::status::ok) {
    auto& events = owner_->events();
    if (events.wanted()) events.emit(event::released{name_, token_, clock::now() - since_});
    return {};
  }
  if (reply.what == core::status::gone || reply.what == core::status::denied) {
    owner_->ended_by_engine(reply);
  }
  return failure(reply, "release of " + name_.printable(), owner_->store().url());
}

void grant::abandon() noexcept {
  if (state_.load() != state::held) return;
  if (!owner_->lease().check(duration::zero(), clock::now())) return;
  if (const auto released = release(); !released) return;
}

}  // namespace holdfast::client
