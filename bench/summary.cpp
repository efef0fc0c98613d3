#include "bench/measure.hpp"
#include "bench/shared_numbers.hpp"
#include "tests/process/child.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

/// Prints every number the project is held to: both sides, their ratio and the bar. Each row is
/// measured five times, the rows taking turns; a line shows the medians.

namespace holdfast::bench {

namespace {

struct results {
  std::vector<double> ours, bare, ratio, tail;
};

/// In a process of its own, so that no row forks with another's threads.
bool measure_once(const measure& m, results& into) {
  const shared_numbers n;
  std::string directory =
      (std::filesystem::temp_directory_path() / "holdfast-bench-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return false;
  auto one = process::child::fork([&] {
    const sample s = m.once(directory);
    n[0] = std::bit_cast<std::uint64_t>(s.ours);
    n[1] = std::bit_cast<std::uint64_t>(s.bare);
    n[2] = std::bit_cast<std::uint64_t>(s.tail);
    return 0;
  });
  const bool done = one.wait(std::chrono::minutes{5}) == 0;
  one.end();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (!done) return false;
  into.ours.push_back(std::bit_cast<double>(n[0].load()));
  into.bare.push_back(std::bit_cast<double>(n[1].load()));
  into.tail.push_back(std::bit_cast<double>(n[2].load()));
  into.ratio.push_back(into.ours.back() / into.bare.back());
  return true;
}

bool holds(const measure& m, double ours, double bare, double ratio, double tail) {
  if (m.tail_limit > 0 && tail > m.tail_limit) return false;
  switch (m.kind) {
    case bar::ratio_at_most:
      return ratio <= m.limit;
    case bar::ratio_at_least:
      return ratio >= m.limit;
    case bar::ours_at_most:
      return ours <= m.limit;
    case bar::ours_over_bare_at_most:
      return ours - bare <= m.limit;
  }
  return false;
}

std::string bar_text(const measure& m) {
  char text[96];
  const char* form = m.kind == bar::ratio_at_most    ? "ratio <= %g"
                     : m.kind == bar::ratio_at_least ? "ratio >= %g"
                     : m.kind == bar::ours_at_most   ? "ours <= %g"
                                                     : "ours - bare <= %g";
  std::snprintf(text, sizeof text, form, m.limit);
  std::string all = text;
  if (m.tail_limit > 0) {
    std::snprintf(text, sizeof text, ", p99 <= %g", m.tail_limit);
    all += text;
  }
  return all;
}

bool print(const measure& m, const results& r) {
  if (r.ours.empty()) {
    std::printf("%-46s could not be measured\n", m.name.c_str());
    return false;
  }
  const double ours = median(r.ours), bare = median(r.bare), ratio = median(r.ratio);
  const double tail = median(r.tail);
  const bool good = holds(m, ours, bare, ratio, tail);
  std::printf("%-46s %10.4g %-3s  bare %10.4g  ratio %7.3f  %-6s (%s; bare: %s)\n", m.name.c_str(),
              ours, m.unit.c_str(), bare, ratio, good ? "good" : "MISSED", bar_text(m).c_str(),
              m.bare_name.c_str());
  if (m.tail_limit > 0) std::printf("%-46s %10.4g %s\n", "  at p99", tail, m.unit.c_str());
  return good;
}

std::vector<measure> all_rows(const programs& p) {
  std::vector<measure> all;
  for (const auto& some : {acquire_rows(), hand_over_rows(), crash_rows(p), check_rows(),
                           fence_rows(), program_rows(p), heartbeat_rows()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

int run(const programs& p, int runs, const char* only) {
  auto rows = all_rows(p);
  std::erase_if(rows, [&](const measure& m) { return m.name.find(only) == std::string::npos; });
  std::vector<results> seen(rows.size());
  for (int i = 0; i < runs; ++i) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::fprintf(stderr, "run %d of %d: %s\n", i + 1, runs, rows[r].name.c_str());
      measure_once(rows[r], seen[r]);
    }
  }
  std::printf("medians of %d runs\n", runs);
  bool good = true;
  for (std::size_t r = 0; r < rows.size(); ++r) good = print(rows[r], seen[r]) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 5;
  if (runs < 1 || argc > 3) {
    std::fprintf(stderr, "usage: %s [RUNS [PART OF A ROW'S NAME]]\n", argv[0]);
    return 64;
  }
  return holdfast::bench::run({HOLDFAST_PROGRAM, STAMP_PROGRAM}, runs, argc > 2 ? argv[2] : "");
}
