#pragma once

#include "history/machine.hpp"

#include <vector>

namespace holdfast::history {

/// Fenced storage of one value: it lets a token through that is not below the newest it has seen.
class register_machine final : public machine {
 public:
  /// For these steps, each of which is done at most once.
  explicit register_machine(const std::vector<step>& steps);

  bool apply(const step& s) override;
  void undo() override;
  bool is_harmless(const step& s) const override;
  void describe(state_key& key) const override { key += static_cast<char32_t>(now_.value); }

 private:
  struct state {
    std::uint64_t floor{};
    value_number value = nothing_written;
    std::size_t lowest{};  ///< Of `awaited_`: the first token some step still has to pass with.
  };
  /// A token that steps have to pass with, and how many of them are left.
  struct awaited {
    std::uint64_t token{};
    std::size_t left{};
  };
  struct memory {
    state before;
    awaited* counted;
  };

  static bool must_pass(const step& s) noexcept;
  /// Whether the floor can come to `token` and all that have to pass below have passed.
  bool may_come_to(std::uint64_t token) const noexcept;
  awaited* count(const step& s) noexcept;

  std::vector<awaited> awaited_;
  state now_;
  std::vector<memory> done_;
};

}  // namespace holdfast::history
