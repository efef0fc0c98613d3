#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/mode.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

/// What `holdfast run` was asked to do, checked.
struct run_options {
  std::string name;
  std::string store;
  mode how{mode::exclusive()};
  duration wait{forever};
  std::optional<duration> ttl{};
  std::optional<duration> grace{};
  int conflict_exit{75};
  std::string fenced{};  ///< The URL of the fence that the command writes through; may be empty.
  std::string label{};
  bool elects{};  ///< The label is what a leader publishes.
  std::string instance{};
  std::string path{};                  ///< The command's file.
  std::vector<std::string> command{};  ///< Its argv.

  /// Whether older tokens are refused there: others may hold a shared lock, too, and no token of
  /// theirs is to be.
  bool is_fenced() const noexcept { return !fenced.empty() && how.is_exclusive(); }
};

}  // namespace holdfast::cli
