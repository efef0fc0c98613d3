#pragma once

#include "cli/settings.hpp"

#include <optional>
#include <string>

namespace holdfast::cli {

/// Reads one configuration file (TOML 1.0) into settings. A type of its own, so that only one file
/// of the program compiles the parser.
class config_reader {
 public:
  /// Unknown keys, values of another type and bad durations are faults: a setting that is ignored
  /// in silence is worse than a program that does not start.
  static std::optional<config_fault> read(const std::string& file, settings& into);
};

}  // namespace holdfast::cli
