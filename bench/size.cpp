// What linking the library costs a program: shared libraries and memory, beside an empty program.

#include "bench/figures.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::bench {

namespace {

using goal = figure::goal;

/// Shared libraries, and MB that are resident.
std::pair<double, double> size_of(const std::string& command) {
  FILE* out = ::popen(command.c_str(), "r");
  int libraries = 0;
  long resident = 0;
  const bool counted = out != nullptr && std::fscanf(out, "%d %ld", &libraries, &resident) == 2;
  if (out == nullptr || ::pclose(out) != 0 || !counted)
    throw std::runtime_error(command + " failed");
  return {libraries, static_cast<double>(resident) / 1024};
}

figures measure_size(const effort& e) {
  figure libraries{"shared libraries beyond an empty program", "", {}, {}, goal::ours_at_most, 12};
  figure resident{"resident beyond an empty program", "MB", {}, {}, goal::ours_at_most, 8};
  figure at_work{"  while it holds a lock in memory:", "MB", {}, {}, goal::ours_at_most, 8};
  for (int i = 0; i < e.rounds; ++i) {
    const auto empty = size_of(SIZE_EMPTY);
    const auto linked = size_of(SIZE_LINKED);
    libraries.ours.push_back(linked.first - empty.first);
    resident.ours.push_back(linked.second - empty.second);
    at_work.ours.push_back(size_of(SIZE_LINKED " memory:size").second - empty.second);
  }
  return {libraries, resident, at_work};
}

}  // namespace

}  // namespace holdfast::bench

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  return print_rows(argc, argv, [](const effort& e) -> std::vector<row> {
    return {{"size", [e] { return measure_size(e); }}};
  });
}
