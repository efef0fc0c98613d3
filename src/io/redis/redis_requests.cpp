#include "io/redis/redis_requests.hpp"

#include "core/assert.hpp"
#include "io/thread/prefetch.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace holdfast::io {

namespace {

constexpr std::size_t kept_max = 512;

/// So many answers earlier: in the time that they take, memory has answered.
constexpr std::size_t ahead = 4;
/// What an answer needs of a receiver: those that come in thousands have it at their beginning.
constexpr std::size_t fetched_bytes = 320;

}  // namespace

/// Answered ones are forgotten together, when they are most of all: a constant cost for each.
void redis_requests::add_early(time_point deadline) {
  if (early_.size() >= kept_max && early_.size() > 2 * size()) forget_answered();
  early_.emplace_back(deadline, number_ + all_.size());
  std::push_heap(early_.begin(), early_.end(), std::greater<>{});
}

/// The line whose last command is due most closely before it: the others stay free for what is due
/// sooner.
std::uint8_t redis_requests::line_for(time_point deadline) noexcept {
  if (empty()) {
    for (queue& l : lines_) l.latest = time_point::min();
  }
  std::uint8_t best = no_line;
  next_above_ = time_point::max();
  for (std::uint8_t k = 0; k < line_count; ++k) {
    if (lines_[k].latest > deadline) {
      next_above_ = std::min(next_above_, lines_[k].latest);
    } else if (best == no_line || lines_[k].latest > lines_[best].latest) {
      best = k;
    }
  }
  if (best == no_line) {
    next_above_ = time_point::min();
  } else {
    last_line_ = best;
  }
  return best;
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
    if (r->line == no_line) drop_first_early();
  }
  return taken;
}

time_point redis_requests::next_deadline() {
  const auto* next = next_due();
  return next == nullptr ? time_point::max() : next->deadline;
}

redis_request* redis_requests::next_due() {
  redis_request* next = first_early();
  for (std::uint8_t k = 0; k < line_count; ++k) {
    redis_request* r = first_in(k);
    if (r != nullptr && (next == nullptr || r->deadline < next->deadline)) next = r;
  }
  return next;
}

redis_request* redis_requests::first_in(std::uint8_t which) noexcept {
  std::uint64_t& looked = lines_[which].looked;
  for (looked = std::max(looked, number_); looked < number_ + size(); ++looked) {
    redis_request* r = waiting(looked);
    if (r->line == which && !r->expired) return r;
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
