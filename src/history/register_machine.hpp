#pragma once

#include "history/awaited_tokens.hpp"
#include "history/machine.hpp"

#include <vector>

namespace holdfast::history {

/// What fenced storage of one value holds, and who may still set and read it: nobody whose token is
/// below that of somebody who did. Readers with shared tokens are compared with exclusive ones
/// only. That tokens are refused at all, and when, is for floor_reasons.hpp.
class register_machine final : public machine {
 public:
  /// For these steps, each of which is done at most once, and none of which was refused.
  explicit register_machine(const std::vector<step>& steps);

  bool apply(const step& s) override;
  void undo() override;
  bool is_harmless(const step& s) const override;
  bool is_past(const step& s) const override;
  /// The floors follow, as far as they matter: what raised them had nobody left to shut out.
  void describe(state_key& key) const override { key += static_cast<char32_t>(now_.value); }

 private:
  struct state {
    std::uint64_t floor{};   ///< The largest exclusive token, or raise, that took effect.
    std::uint64_t newest{};  ///< Of all modes; never below the floor.
    value_number value = nothing_written;
  };
  struct memory {
    state before;
    const step* passed;  ///< When it had to.
  };

  bool shuts_nobody_out(const step& s) const noexcept;
  awaited_tokens& awaited_like(const step& s) noexcept;

  awaited_tokens exclusive_;
  awaited_tokens shared_;
  state now_;
  std::vector<memory> done_;
};

}  // namespace holdfast::history
