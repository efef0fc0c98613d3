#pragma once

#include "history/machine.hpp"

#include <holdfast/history.hpp>

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace holdfast::history {

/// Looks for an order of the steps that the machine can do and that keeps real time: a step that
/// returned before another was invoked comes before it. Those that may be left out may be missing.
///
/// A step that took effect has an index below `end_` and is not in `open_`. Of the steps below
/// `end_` that is never more than what was under way at one moment, so that this, and not a bit for
/// every step, is the key of a state: exact, and small in long histories too. A step that may be
/// left out stays open until it is past.
class search {
 public:
  /// `by_call` is ordered by the time of call and outlives the search, as the machine does.
  search(const std::vector<step>& by_call, machine& object, std::size_t memory_max);

  verdict run();
  /// How many steps were tried: what the answer cost.
  std::uint64_t tries() const noexcept { return tries_; }

 private:
  /// One step that was done, and the others that were possible instead.
  struct frame {
    std::size_t choices_from;  ///< Where they begin in `choices_`.
    std::size_t next_choice;
    std::uint32_t done{};
    std::size_t end_before{};
    std::size_t open_before{};
    std::size_t past_before{};
    bool is_done{};
  };

  bool enter();
  void list_choices();
  bool is_left_out(std::uint32_t i) const;
  /// A step that can be done and is in nobody's way: whatever comes after may come after it.
  bool keep_the_harmless_one(std::size_t from);
  /// Does the next choice that can be done. False: none is left, and the step before is the wrong
  /// one.
  bool try_next(frame& f);
  /// Notes that `i` was done, and in the frame what take_back() needs.
  void take(frame& f, std::uint32_t i);
  /// Everything is as before take(), in the object too.
  void take_back(frame& f);
  void drop_the_past();
  /// Which steps are done and what the object is; each is entered once.
  bool is_new_state();

  const std::vector<step>& steps_;
  machine& object_;
  std::size_t memory_max_;
  std::size_t memory_{};
  std::uint64_t tries_{};
  std::size_t left_{};  ///< Steps that have to be done still.
  std::size_t end_{};
  std::vector<std::uint32_t> open_;
  std::vector<std::uint32_t> past_;  ///< What left `open_` without being done, in that order.
  std::vector<std::uint32_t> choices_;
  std::vector<frame> frames_;
  std::unordered_set<state_key> seen_;
};

}  // namespace holdfast::history
