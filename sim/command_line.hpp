#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sim {

/// What a simulator's command line asks for.
struct command_line {
  std::uint64_t from{1};  ///< Seeds, both ends included.
  std::uint64_t to{1};
  std::string_view scenario{"mixed"};
  std::string_view removed;  ///< The rule to run without; empty: none.
  std::uint64_t seconds{};   ///< Of faults in a run; zero: what the scenario has.
  bool trace{};
};

/// Nothing when it cannot be understood. The texts are those of `argv`.
std::optional<command_line> parse(int argc, char** argv);
/// Of the program of that name.
std::string usage_of(std::string_view program);
/// What follows the seed in the command that runs one of its runs again.
std::string replayed_with(const command_line& r);

}  // namespace holdfast::sim
