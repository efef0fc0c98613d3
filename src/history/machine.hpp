#pragma once

#include "history/step.hpp"

#include <string>

namespace holdfast::history {

/// A state that the search went through, as an exact key.
using state_key = std::u32string;

/// A sequential object: it does one step after the other and can take the last one back.
class machine {
 public:
  machine() = default;
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  virtual ~machine() = default;

  /// Does the step; false, and nothing is changed, when it is not possible in this state.
  virtual bool apply(const step& s) = 0;
  /// Takes the last step that was done back.
  virtual void undo() = 0;
  /// Whether doing the step now, if it is possible, never rules out what could come otherwise.
  virtual bool is_harmless(const step& s) const = 0;
  /// Whether the step is not possible in this state and in none that comes after it.
  virtual bool is_past(const step& s) const = 0;
  /// Adds what does not follow from which steps were done, but for those that are past.
  virtual void describe(state_key& key) const = 0;
};

}  // namespace holdfast::history
