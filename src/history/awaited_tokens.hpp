#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::history {

/// The tokens that steps still have to pass with, and how many steps with each.
class awaited_tokens {
 public:
  /// In any order; each as often as steps have it.
  explicit awaited_tokens(std::vector<std::uint64_t> tokens);

  bool any_below(std::uint64_t token) const noexcept {
    return lowest_ < all_.size() && all_[lowest_].token < token;
  }
  /// One step with this token has passed, and that is taken back. The token is one of them.
  void passed(std::uint64_t token) noexcept;
  void take_back(std::uint64_t token) noexcept;

 private:
  struct awaited {
    std::uint64_t token{};
    std::size_t left{};
  };
  std::size_t find(std::uint64_t token) const noexcept;

  std::vector<awaited> all_;  ///< By token.
  std::size_t lowest_{};      ///< The first of which some are left.
};

}  // namespace holdfast::history
