#include "io/redis_requests.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace holdfast::io {

namespace {

constexpr std::size_t kept_max = 512;

/// So many answers earlier: in the time that they take, memory has answered.
constexpr std::size_t ahead = 4;
/// Most of a receiver; the processor may be asked for what is behind its end.
constexpr std::uintptr_t fetched_bytes = 640;
constexpr std::uintptr_t line_bytes = 64;

}  // namespace

void redis_requests::add(redis_request r) {
  if (r.deadline != time_point::max()) {
    // Answered ones are forgotten together, when they are most of all: a constant cost for each.
    if (deadlines_.size() >= kept_max && deadlines_.size() > 2 * size()) forget_answered();
    deadlines_.emplace_back(r.deadline, number_ + all_.size());
    std::push_heap(deadlines_.begin(), deadlines_.end(), std::greater<>{});
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
  for (auto line = at - line_bytes / 2; line < at + fetched_bytes; line += line_bytes) {
    __builtin_prefetch(reinterpret_cast<const void*>(line), 1);
  }
}

std::vector<redis_request> redis_requests::take_due(time_point now) {
  std::vector<redis_request> taken;
  while (next_deadline() <= now) {
    redis_request* found = waiting(deadlines_.front().second);
    found->expired = true;
    taken.push_back(*found);
    drop_first_deadline();
  }
  return taken;
}

time_point redis_requests::next_deadline() {
  // Most were answered in time: together they cost less than one by one.
  if (deadlines_.size() > 2 * size()) forget_answered();
  while (!deadlines_.empty() && waiting(deadlines_.front().second) == nullptr) {
    drop_first_deadline();
  }
  return deadlines_.empty() ? time_point::max() : deadlines_.front().first;
}

std::vector<redis_request> redis_requests::take_all() {
  number_ += all_.size();
  deadlines_.clear();
  std::vector<redis_request> taken(std::make_move_iterator(all_.begin()),
                                   std::make_move_iterator(all_.end()));
  all_.clear();
  return taken;
}

redis_request* redis_requests::waiting(std::uint64_t number) noexcept {
  return number < number_ ? nullptr : &all_[number - number_];
}

void redis_requests::drop_first_deadline() {
  std::pop_heap(deadlines_.begin(), deadlines_.end(), std::greater<>{});
  deadlines_.pop_back();
}

void redis_requests::forget_answered() {
  std::erase_if(deadlines_, [&](const due& d) { return waiting(d.second) == nullptr; });
  std::make_heap(deadlines_.begin(), deadlines_.end(), std::greater<>{});
}

}  // namespace holdfast::io
