#pragma once

#include <holdfast/history.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::tests {

/// What one thread asked for and got. All count with one clock.
class recorder {
 public:
  recorder(std::atomic<std::int64_t>& clock, std::string caller)
      : clock_(clock), caller_(std::move(caller)) {}

  std::int64_t begin() { return ++clock_; }
  /// A call that returns now; with "pending" one that never does.
  history::line& add(history::operation what, std::uint64_t token, std::int64_t invoked,
                     std::string outcome, std::optional<std::string> value = {}) {
    history::line l;
    l.what = what;
    l.caller = caller_;
    l.lock = "log";
    l.token = {token};
    l.invoked = invoked;
    if (outcome != "pending") l.returned = ++clock_;
    l.outcome = std::move(outcome);
    l.value = std::move(value);
    lines_.push_back(std::move(l));
    return lines_.back();
  }
  const std::vector<history::line>& lines() const { return lines_; }

 private:
  std::atomic<std::int64_t>& clock_;
  std::string caller_;
  std::vector<history::line> lines_;
};

/// The lines of all.
inline std::vector<history::line> together(const std::vector<recorder>& says) {
  std::vector<history::line> all;
  for (const recorder& s : says) all.insert(all.end(), s.lines().begin(), s.lines().end());
  return all;
}

}  // namespace holdfast::tests
