#include "io/redis_requests.hpp"

#include "core/assert.hpp"
#include "io/prefetch.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace holdfast::io {

namespace {

constexpr std::size_t kept_max = 512;

/// So many answers earlier: in the time that they take, memory has answered.
constexpr std::size_t ahead = 4;
/// Most of a receiver.
constexpr std::size_t fetched_bytes = 640;

}  // namespace

void redis_requests::add(redis_request&& r) {
  if (empty()) latest_ = time_point::min();
  if (r.deadline != time_point::max()) {
    r.in_line = r.deadline >= latest_;
    if (r.in_line) {
      latest_ = r.deadline;
    } else {
      // Answered ones are forgotten together, when they are most of all: a constant cost for each.
      if (early_.size() >= kept_max && early_.size() > 2 * size()) forget_answered();
      early_.emplace_back(r.deadline, number_ + all_.size());
      std::push_heap(early_.begin(), early_.end(), std::greater<>{});
    }
  }
  all_.push_back(std::move(r));
}

redis_request redis_requests::take_front() {
  HOLDFAST_ASSERT(!empty());
  redis_request taken = std::move(all_.front());
  all_.pop_front();
  ++number_;
  return taken;
}

void redis_requests::fetch_ahead() const noexcept {
  if (size() <= ahead) return;
  const auto at = reinterpret_cast<std::uintptr_t>(all_[ahead].receiver.get());
  // The count of its owners is before it.
  prefetch(at - cache_line_bytes / 2, fetched_bytes + cache_line_bytes);
}

std::vector<redis_request> redis_requests::take_due(time_point now) {
  std::vector<redis_request> taken;
  for (auto* r = next_due(); r != nullptr && r->deadline <= now; r = next_due()) {
    r->expired = true;
    taken.push_back(*r);
    if (!r->in_line) drop_first_early();
  }
  return taken;
}

time_point redis_requests::next_deadline() {
  const auto* next = next_due();
  return next == nullptr ? time_point::max() : next->deadline;
}

redis_request* redis_requests::next_due() {
  redis_request* in_line = first_in_line();
  redis_request* early = first_early();
  if (in_line == nullptr || early == nullptr) return in_line == nullptr ? early : in_line;
  return early->deadline < in_line->deadline ? early : in_line;
}

redis_request* redis_requests::first_in_line() noexcept {
  for (looked_ = std::max(looked_, number_); looked_ < number_ + size(); ++looked_) {
    redis_request* r = waiting(looked_);
    if (r->in_line && !r->expired) return r;
  }
  return nullptr;
}

redis_request* redis_requests::first_early() {
  // Most were answered in time: together they cost less than one by one.
  if (early_.size() > 2 * size()) forget_answered();
  while (!early_.empty()) {
    redis_request* r = waiting(early_.front().second);
    if (r != nullptr) return r;
    drop_first_early();
  }
  return nullptr;
}

std::vector<redis_request> redis_requests::take_all() {
  number_ += all_.size();
  early_.clear();
  std::vector<redis_request> taken(std::make_move_iterator(all_.begin()),
                                   std::make_move_iterator(all_.end()));
  all_.clear();
  return taken;
}

redis_request* redis_requests::waiting(std::uint64_t number) noexcept {
  return number < number_ ? nullptr : &all_[number - number_];
}

void redis_requests::drop_first_early() {
  std::pop_heap(early_.begin(), early_.end(), std::greater<>{});
  early_.pop_back();
}

void redis_requests::forget_answered() {
  std::erase_if(early_, [&](const due& d) { return waiting(d.second) == nullptr; });
  std::make_heap(early_.begin(), early_.end(), std::greater<>{});
}

}  // namespace holdfast::io
