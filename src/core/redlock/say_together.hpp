#pragma once

#include "core/listed.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace holdfast::core::redlock {

/// What is said of each node's connection, with all nodes of which the same is said named by the
/// first: nothing is left for the others. A wrong password is one, and not five.
inline void say_together(std::vector<std::string>& said, std::span<const std::string> addresses) {
  const auto reason_of = [&](std::size_t i) {
    const std::string begin = "redis node " + addresses[i] + ": ";
    return said[i].starts_with(begin) ? said[i].substr(begin.size()) : std::string();
  };
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::string why = reason_of(i);
    std::vector<std::string> names{addresses[i]};
    for (std::size_t k = i + 1; k < said.size() && !why.empty(); ++k) {
      if (reason_of(k) != why) continue;
      names.push_back(addresses[k]);
      said[k].clear();
    }
    if (names.size() > 1) said[i] = "redis nodes " + listed(names) + " each: " + why;
  }
}

}  // namespace holdfast::core::redlock
