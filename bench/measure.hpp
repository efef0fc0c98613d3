#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::bench {

/// Both sides of one comparison, in the unit of its row; `tail` is ours at the 99th percentile,
/// where that is asked for.
struct sample {
  double ours{};
  double bare{};
  double tail{};
};

/// What a row of the summary is held to.
enum class bar { ratio_at_most, ratio_at_least, ours_at_most, ours_over_bare_at_most };

/// One row: how it is measured once, and what it is held to.
struct measure {
  std::string name;
  std::string unit;
  std::string bare_name;
  bar kind;
  double limit;
  double tail_limit;  ///< Zero: no tail is shown.
  /// Runs in a process of its own, with one thread and an empty directory.
  std::function<sample(const std::string& directory)> once;
};

/// Where the programs are that some rows start.
struct programs {
  std::string holdfast;
  std::string stamp;
};

std::vector<measure> acquire_rows();
std::vector<measure> hand_over_rows();
std::vector<measure> crash_rows(const programs& p);
std::vector<measure> check_rows();
std::vector<measure> fence_rows();
std::vector<measure> heartbeat_rows();
std::vector<measure> program_rows(const programs& p);

double median(std::vector<double> values);
double percentile(std::vector<double> values, double part);
/// CLOCK_MONOTONIC in microseconds: for lengths of time within one run.
double now_us();

}  // namespace holdfast::bench
