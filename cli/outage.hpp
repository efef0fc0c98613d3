#pragma once

#include "cli/report.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <optional>
#include <string>
#include <utility>

namespace holdfast::cli {

/// Sleeps, and gives the exit code as soon as nobody reads standard output any more: within a
/// second.
std::optional<int> pause_while_read(duration length, const report& out);

/// A watched store that does not answer for a while. Whoever watches it wants to see what comes
/// after that, too, so it is said once and waited out.
class outage {
 public:
  outage(std::string url, const report& out) : url_(std::move(url)), out_(out) {}

  /// After a look that failed; it pauses for a second. The exit code when that is the end: for
  /// another reason than that the store is away, or before anything was `shown`.
  std::optional<int> wait(const error& why, bool shown);
  /// After a look that did not fail: whether one before it did.
  bool ends();

 private:
  const std::string url_;
  const report& out_;
  bool lasts_{};
};

}  // namespace holdfast::cli
