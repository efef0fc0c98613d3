#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

/// One number of both sides; `bare` is zero where no bare loop exists.
struct number {
  std::string name;
  std::string unit;
  std::vector<double> ours{};
  std::vector<double> bare{};
  /// What it is held to: the ratio of both, or ours alone.
  enum class goal { ratio_at_most, ratio_at_least, ours_at_most, ours_at_least, shown } kind{};
  double limit{};
};

using numbers = std::vector<number>;

/// How often every pair is measured, taking turns, and how long one side runs.
struct effort {
  int rounds{5};
  double seconds{1};
};

/// Rows that are measured together, by the name that a caller may ask for.
using row_group = std::pair<const char*, std::function<numbers()>>;
/// Starts what is measured and says how; it lives as long as the parts.
using parts_of = std::function<std::vector<row_group>(const effort&)>;

/// Measures and prints all parts, or those whose name holds the third argument; what main()
/// returns: zero when all goals are met.
int compare(int argc, char** argv, const parts_of& all);

/// CPU of this process so far.
double own_cpu_seconds();
/// Memory of this process in bytes.
double resident_bytes();

}  // namespace holdfast::bench
