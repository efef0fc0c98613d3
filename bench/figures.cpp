#include "bench/figures.hpp"

#include "bench/measure.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace holdfast::bench {

namespace {

using goal = figure::goal;

double ratio_of(const figure& n) {
  std::vector<double> all;
  for (std::size_t i = 0; i < std::min(n.ours.size(), n.bare.size()); ++i) {
    all.push_back(n.ours[i] / n.bare[i]);
  }
  return median(all);
}

bool holds(const figure& n) {
  switch (n.kind) {
    case goal::ratio_at_most:
      return ratio_of(n) <= n.limit;
    case goal::ratio_at_least:
      return ratio_of(n) >= n.limit;
    case goal::ours_at_most:
      return median(n.ours) <= n.limit;
    case goal::ours_at_least:
      return median(n.ours) >= n.limit;
    case goal::shown:
      return true;
  }
  return false;
}

bool print(const figure& n) {
  std::printf("%-52s ours %10.4g", n.name.c_str(), median(n.ours));
  if (n.bare.empty()) {
    std::printf("%26s", "");
  } else {
    std::printf("  bare %10.4g  x %6.3f", median(n.bare), ratio_of(n));
  }
  std::printf("  %-4s", n.unit.c_str());
  const char* form = n.kind == goal::ratio_at_most    ? " %s (ratio <= %g)"
                     : n.kind == goal::ratio_at_least ? " %s (ratio >= %g)"
                     : n.kind == goal::ours_at_most   ? " %s (ours <= %g)"
                                                      : " %s (ours >= %g)";
  const bool good = holds(n);
  if (n.kind != goal::shown) std::printf(form, good ? "good  " : "MISSED", n.limit);
  std::printf("\n");
  std::fflush(stdout);
  return good;
}

std::string load() {
  std::string text;
  std::getline(std::ifstream("/proc/loadavg"), text);
  return text;
}

/// With a policy of real time (chrt -r 1) other programs of the machine count for less: ratios of
/// two such runs may be compared, and not with those of another policy.
const char* policy() {
  switch (::sched_getscheduler(0)) {
    case SCHED_RR:
      return "SCHED_RR";
    case SCHED_FIFO:
      return "SCHED_FIFO";
    case SCHED_OTHER:
      return "SCHED_OTHER";
    default:
      return "another policy";
  }
}

int run(const std::vector<row>& rows, const effort& e, const char* only) {
  std::printf("medians of %d rounds of %.1f s a side; %s; load of the machine %s\n", e.rounds,
              e.seconds, policy(), load().c_str());
  bool good = true;
  for (const auto& [name, measure] : rows) {
    if (std::strstr(name, only) == nullptr) continue;
    for (const auto& n : measure()) good = print(n) && good;
  }
  std::printf("load of the machine at the end %s\n", load().c_str());
  return good ? 0 : 1;
}

}  // namespace

int print_rows(int argc, char** argv, const std::function<std::vector<row>(const effort&)>& rows) {
  effort e;
  if (argc > 1) e.rounds = std::atoi(argv[1]);
  if (argc > 2) e.seconds = std::atof(argv[2]);
  if (e.rounds < 1 || e.seconds <= 0 || argc > 4) {
    std::fprintf(stderr, "usage: %s [ROUNDS [SECONDS [PART OF A ROW'S NAME]]]\n", argv[0]);
    return 64;
  }
  try {
    return run(rows(e), e, argc > 3 ? argv[3] : "");
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    return 1;
  }
}

}  // namespace holdfast::bench
