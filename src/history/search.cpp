#include "history/search.hpp"

#include "core/assert.hpp"

#include <algorithm>

/// The search of J. Wing and C. Gong (Testing and verifying concurrent objects, 1993) with the
/// memory of states of G. Lowe (Testing for linearizability, 2017). Without recursion, for a
/// history may be long.

namespace holdfast::history {

namespace {
// What a node of the set takes beside its characters.
constexpr std::size_t node_bytes = 64;
}  // namespace

search::search(const std::vector<step>& by_call, machine& object, std::size_t memory_max)
    : steps_(by_call), object_(object), memory_max_(memory_max) {
  HOLDFAST_ASSERT(by_call.size() < UINT32_MAX);
  for (const step& s : by_call) left_ += s.may_be_left_out ? 0 : 1;
}

verdict search::run() {
  if (left_ == 0) return verdict::linearizable;
  if (!enter()) return verdict::violation;
  while (!frames_.empty()) {
    if (memory_ + choices_.size() * sizeof(std::uint32_t) + frames_.size() * sizeof(frame) >
        memory_max_) {
      return verdict::undecided;
    }
    frame& f = frames_.back();
    if (f.is_done) take_back(f);
    if (!try_next(f)) {
      choices_.resize(f.choices_from);
      frames_.pop_back();
    } else if (left_ == 0) {
      return verdict::linearizable;
    } else {
      enter();
    }
  }
  return verdict::violation;
}

/// Begins with the state that the last step led to; false when it was seen before.
bool search::enter() {
  const std::size_t from = choices_.size();
  list_choices();
  // A step that harms nobody leaves nothing to choose, so nothing to come back to.
  if (!keep_the_harmless_one(from) && !is_new_state()) {
    choices_.resize(from);
    return false;
  }
  frames_.push_back({.choices_from = from, .next_choice = from});
  return true;
}

/// The steps before which no other has to come, in the order of their returns.
void search::list_choices() {
  const std::size_t from = choices_.size();
  std::int64_t first_return = never;
  const auto look_at = [&](std::uint32_t i) {
    if (steps_[i].invoked > first_return) return false;
    if (!steps_[i].may_be_left_out) first_return = std::min(first_return, steps_[i].returned);
    if (!is_left_out(i)) choices_.push_back(i);
    return true;
  };
  for (const std::uint32_t i : open_) look_at(i);
  for (std::size_t i = end_; i < steps_.size(); ++i) {
    if (!look_at(static_cast<std::uint32_t>(i))) break;
  }
  const auto begin = choices_.begin() + static_cast<std::ptrdiff_t>(from);
  choices_.erase(std::remove_if(begin, choices_.end(),
                                [&](std::uint32_t i) { return steps_[i].invoked > first_return; }),
                 choices_.end());
  std::stable_sort(
      choices_.begin() + static_cast<std::ptrdiff_t>(from), choices_.end(),
      [&](std::uint32_t a, std::uint32_t b) { return steps_[a].returned < steps_[b].returned; });
}

// Of those whose caller was killed there may be thousands.
bool search::is_left_out(std::uint32_t i) const {
  return steps_[i].may_be_left_out && object_.is_past(steps_[i]);
}

bool search::keep_the_harmless_one(std::size_t from) {
  for (std::size_t i = from; i < choices_.size(); ++i) {
    const step& s = steps_[choices_[i]];
    if (s.may_be_left_out || !object_.is_harmless(s) || !object_.apply(s)) continue;
    object_.undo();
    choices_[from] = choices_[i];
    choices_.resize(from + 1);
    return true;
  }
  return false;
}

bool search::try_next(frame& f) {
  while (f.next_choice < choices_.size()) {
    const std::uint32_t i = choices_[f.next_choice++];
    ++tries_;
    if (!object_.apply(steps_[i])) continue;
    take(f, i);
    return true;
  }
  return false;
}

void search::take(frame& f, std::uint32_t i) {
  f.done = i;
  f.end_before = end_;
  f.open_before = open_.size();
  f.is_done = true;
  if (i < end_) {
    open_.erase(std::lower_bound(open_.begin(), open_.end(), i));
  } else {
    for (; end_ < i; ++end_) open_.push_back(static_cast<std::uint32_t>(end_));
    end_ = i + std::size_t{1};
  }
  if (!steps_[i].may_be_left_out) --left_;
  f.past_before = past_.size();
  drop_the_past();
}

/// No state from here on needs them, and to pass by them at each step would take time in the square
/// of the length.
void search::drop_the_past() {
  const auto gone = std::stable_partition(open_.begin(), open_.end(),
                                          [this](std::uint32_t i) { return !is_left_out(i); });
  past_.insert(past_.end(), gone, open_.end());
  open_.erase(gone, open_.end());
}

void search::take_back(frame& f) {
  object_.undo();
  f.is_done = false;
  if (past_.size() > f.past_before) {
    const auto kept = static_cast<std::ptrdiff_t>(open_.size());
    open_.insert(open_.end(), past_.begin() + static_cast<std::ptrdiff_t>(f.past_before),
                 past_.end());
    std::inplace_merge(open_.begin(), open_.begin() + kept, open_.end());
    past_.resize(f.past_before);
  }
  if (f.done < f.end_before) {
    open_.insert(std::lower_bound(open_.begin(), open_.end(), f.done), f.done);
  } else {
    open_.resize(f.open_before);
    end_ = f.end_before;
  }
  if (!steps_[f.done].may_be_left_out) ++left_;
}

bool search::is_new_state() {
  state_key key(1, static_cast<char32_t>(end_));
  for (const std::uint32_t i : open_) key += static_cast<char32_t>(i);
  object_.describe(key);
  memory_ += node_bytes + key.size() * sizeof(char32_t);
  // From a state that was seen the search has failed before, or it would have ended.
  return seen_.insert(std::move(key)).second;
}

}  // namespace holdfast::history
