#pragma once

#include "bench/redlock_servers.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::bench {

/// One number of both sides; `bare` is zero where no bare loop exists.
struct redlock_number {
  std::string name;
  std::string unit;
  std::vector<double> ours{};
  std::vector<double> bare{};
  /// What it is held to: the ratio of both, or ours alone.
  enum class goal { ratio_at_most, ratio_at_least, ours_at_most, ours_at_least, shown } kind{};
  double limit{};
};

using redlock_numbers = std::vector<redlock_number>;

/// How often every pair is measured, taking turns, and how long one side runs.
struct redlock_effort {
  int rounds{5};
  double seconds{1};
};

redlock_numbers measure_sequential(redlock_servers& s, const redlock_effort& e);
redlock_numbers measure_delayed(redlock_servers& s, const redlock_effort& e);
redlock_numbers measure_concurrent(redlock_servers& s, const redlock_effort& e);
redlock_numbers measure_durable(const redlock_effort& e);
redlock_numbers measure_faults(redlock_servers& s, const redlock_effort& e);
redlock_numbers measure_waiters(redlock_servers& s, const redlock_effort& e);
redlock_numbers measure_renewal(redlock_servers& s, const redlock_effort& e);

// A machine that does other things, too, may keep a server from running for longer than the default
// node timeout; the bare loops wait without a limit.
constexpr const char* tokens_off = "tokens=off&assume_fresh=yes&node_timeout=2s";
constexpr const char* tokens_on = "tokens=on&node_timeout=2s";
constexpr const char* default_timeout = "tokens=off&assume_fresh=yes";

}  // namespace holdfast::bench
