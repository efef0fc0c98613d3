#include "sim/schedule.hpp"

#include <algorithm>
#include <functional>

namespace holdfast::sim {

schedule::~schedule() {
  for (const key& k : heap_) {
    slot& s = at_index(k.slot);
    s.destroy(s.room.data());
  }
}

std::uint32_t schedule::take_slot() {
  if (free_.empty()) {
    const auto first = static_cast<std::uint32_t>(chunks_.size() * chunk_size);
    chunks_.push_back(std::make_unique<std::array<slot, chunk_size>>());
    for (std::uint32_t i = chunk_size; i > 0; --i) free_.push_back(first + i - 1);
  }
  const std::uint32_t i = free_.back();
  free_.pop_back();
  return i;
}

void schedule::push(key k) {
  heap_.push_back(k);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

bool schedule::step(moment end) {
  if (heap_.empty() || heap_.front().when > end) {
    now_ = end;
    return false;
  }
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
  const key k = heap_.back();
  heap_.pop_back();
  now_ = k.when;
  ++steps_;
  slot& s = at_index(k.slot);  // Stays where it is while the task schedules others.
  s.run(s.room.data());
  s.destroy(s.room.data());
  free_.push_back(k.slot);
  return true;
}

}  // namespace holdfast::sim
