#include "bench/comparison.hpp"

#include "bench/measure.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <utility>

namespace holdfast::bench {

double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

double now_us() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double resident_bytes() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

namespace {

using goal = number::goal;

double ratio_of(const number& n) {
  std::vector<double> all;
  for (std::size_t i = 0; i < std::min(n.ours.size(), n.bare.size()); ++i) {
    all.push_back(n.ours[i] / n.bare[i]);
  }
  return median(all);
}

bool holds(const number& n) {
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

bool print(const number& n) {
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

int run(const effort& e, const char* only, const parts_of& all) {
  const auto parts = all(e);
  std::printf("medians of %d rounds of %.1f s a side; load of the machine %s\n", e.rounds,
              e.seconds, load().c_str());
  bool good = true;
  for (const auto& [name, measure] : parts) {
    if (std::strstr(name, only) == nullptr) continue;
    for (const auto& n : measure()) good = print(n) && good;
  }
  std::printf("load of the machine at the end %s\n", load().c_str());
  return good ? 0 : 1;
}

}  // namespace

int compare(int argc, char** argv, const parts_of& all) {
  effort e;
  if (argc > 1) e.rounds = std::atoi(argv[1]);
  if (argc > 2) e.seconds = std::atof(argv[2]);
  if (e.rounds < 1 || e.seconds <= 0 || argc > 4) {
    std::fprintf(stderr, "usage: %s [ROUNDS [SECONDS [PART OF A ROW'S NAME]]]\n", argv[0]);
    return 64;
  }
  try {
    return run(e, argc > 3 ? argv[3] : "", all);
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    return 1;
  }
}

}  // namespace holdfast::bench
