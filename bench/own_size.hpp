#pragma once

#include <fstream>
#include <iostream>
#include <set>
#include <string>

namespace holdfast::bench {

/// Prints how many shared libraries this process has mapped, and how many KiB of it are resident.
inline void print_own_size() {
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto at = line.find('/');
    if (at != std::string::npos && line.find(".so", at) != std::string::npos) {
      libraries.insert(line.substr(at));
    }
  }
  long resident = 0;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> resident;
  }
  std::cout << libraries.size() << ' ' << resident << '\n';
}

}  // namespace holdfast::bench
