#include <holdfast/lock.hpp>

#include "client/grant.hpp"
#include "client/left_alone.hpp"

#include <utility>

namespace holdfast {

namespace {

client::grant& held(const std::shared_ptr<client::grant>& g) noexcept {
  if (!g) detail::bad_access("a lock that was moved from was used");
  return *g;
}

void drop(std::shared_ptr<client::grant>& g, client::waits may = client::waits::yes) noexcept {
  if (!g) return;
  if (g->left_alone()) return client::leave_alone(std::move(g));
  g->abandon(may);
  g.reset();
}

}  // namespace

lock::lock(std::shared_ptr<client::grant> g) noexcept : grant_(std::move(g)) {}
lock::lock(lock&&) noexcept = default;

lock& lock::operator=(lock&& other) noexcept {
  if (this == &other) return *this;
  drop(grant_);
  grant_ = std::move(other.grant_);
  return *this;
}

lock::~lock() { drop(grant_); }

const lock_name& lock::name() const noexcept { return held(grant_).name(); }
holdfast::mode lock::mode() const noexcept { return held(grant_).mode(); }
token lock::token() const noexcept { return held(grant_).token(); }
result<fencing_token> lock::fencing_token() const { return held(grant_).fencing_token(); }
duration lock::remaining() const noexcept { return held(grant_).remaining(); }
result<void> lock::check(duration needed) const noexcept { return held(grant_).check(needed); }
std::stop_token lock::lost() const noexcept { return held(grant_).lost(); }

void lock::on_lost(std::function<void(const error&)> f) { held(grant_).on_lost(std::move(f)); }

// What is called in here may own this lock, and end it, or ask it: it stays as it is, and is not
// touched afterwards.
result<void> lock::release() && {
  held(grant_);
  auto own = grant_;
  auto released = own->release();
  drop(own);
  return released;
}

void lock::release(completion<void> done) && {
  held(grant_);
  if (!done) detail::bad_access("an empty completion was given to release()");
  auto own = grant_;
  own->release(std::move(done));
  drop(own, client::waits::no);
}

}  // namespace holdfast
