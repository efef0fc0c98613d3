#include "core/redlock/first_sights.hpp"

#include <algorithm>

namespace holdfast::core::redlock {

time_point first_sights::note(const std::string& life, time_point now) {
  return seen_.emplace(life, now).first->second;
}

void first_sights::recall(const std::string& life, time_point since) {
  const auto [there, added] = seen_.emplace(life, since);
  if (!added) there->second = std::min(there->second, since);
}

void first_sights::forget_before(time_point then) {
  std::erase_if(seen_, [&](const auto& sight) { return sight.second < then; });
}

}  // namespace holdfast::core::redlock
