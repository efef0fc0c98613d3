#pragma once

#include <functional>
#include <string>
#include <vector>

namespace holdfast::bench {

/// One number of both sides, once for each round; `bare` is empty where no bare loop exists.
struct figure {
  std::string name;
  std::string unit;
  std::vector<double> ours{};
  std::vector<double> bare{};
  /// What it is held to: the ratio of both, or ours alone.
  enum class goal { ratio_at_most, ratio_at_least, ours_at_most, ours_at_least, shown } kind{};
  double limit{};
};

using figures = std::vector<figure>;

/// How often every pair is measured, taking turns, and how long one side runs.
struct effort {
  int rounds{5};
  double seconds{1};
};

/// Figures that are measured together.
struct row {
  const char* name;
  std::function<figures()> measure;
};

/// What main() of a program does that prints such rows: ROUNDS, SECONDS and a part of a row's name
/// come from its command line. Not zero when a goal was missed.
int print_rows(int argc, char** argv, const std::function<std::vector<row>(const effort&)>& rows);

}  // namespace holdfast::bench
