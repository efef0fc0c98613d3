#include "fence/append_queue.hpp"

namespace holdfast::fencing {

using turn = pending_call::turn;

namespace {

/// The owner of `one` may return as soon as the store is seen: waking it needs its address alone.
void tell(pending_call& one, turn what) noexcept {
  one.state.store(what);
  one.state.notify_one();
}

}  // namespace

bool append_queue::enter(pending_call& mine) noexcept {
  mine.older = newest_.load();
  while (!newest_.compare_exchange_weak(mine.older, &mine)) {
  }
  return mine.older == nullptr;
}

bool append_queue::wait(pending_call& mine) const noexcept {
  mine.state.wait(turn::waits);
  return mine.state.load() == turn::leads;
}

void append_queue::gather(pending_call& leader, std::size_t bytes_max, call_group& into) noexcept {
  pending_call* last = newest_.load();
  // Whoever enters knows only the one before; the leader, who serves the oldest first, links them
  // the other way.
  for (auto* one = last; one != &leader; one = one->older) one->older->newer = one;
  std::size_t bytes = 0;
  into.count_ = 0;
  for (auto* one = &leader;; one = one->newer) {
    into.calls_[into.count_++] = one;
    bytes += one->record.size();
    if (one == last || into.count_ == call_group::calls_max || bytes >= bytes_max) return;
  }
}

pending_call* append_queue::leave(const call_group& group, const pending_call& own,
                                  bool go_on) noexcept {
  pending_call* last = group.calls().back();
  pending_call* newest = last;
  pending_call* next = nullptr;
  // If nobody has come meanwhile the line is empty again, and whoever comes next leads.
  if (!newest_.compare_exchange_strong(newest, nullptr)) {
    for (auto* one = newest; one != last; one = one->older) one->older->newer = one;
    next = last->newer;
  }
  // A leader that will sync is woken last: those served before it may then stand in line again,
  // and share its sync.
  const bool slow = next != nullptr && next->needed == survives::power_loss;
  if (next != nullptr && !go_on && !slow) tell(*next, turn::leads);
  for (auto* one : group.calls()) {
    if (one != &own) tell(*one, turn::done);
  }
  if (next != nullptr && !go_on && slow) tell(*next, turn::leads);
  return next;
}

}  // namespace holdfast::fencing
