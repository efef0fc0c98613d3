#pragma once

#include "engines/redlock/cluster.hpp"

#include <holdfast/clock.hpp>

#include <string>

namespace holdfast::engines::redlock {

/// What a majority of those that vote allows; records may differ after a change of max_ttl. Zero
/// without records.
duration longest_ttl(const cluster& c);

/// What an operator can do about a ttl that is longer.
std::string ttl_too_long(duration ttl, duration most);

}  // namespace holdfast::engines::redlock
