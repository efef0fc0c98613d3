#pragma once

#include "engines/redlock/cluster.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <memory>

namespace holdfast::engines::redlock {

/// Before a shorter max_ttl is written: whether nobody holds with a longer ttl. Blocks.
/// Errors: `busy`: somebody may; `unavailable`: it cannot be seen.
result<void> long_sessions_ended(const std::shared_ptr<cluster>& c, duration max_ttl);

/// The same behind the writes: one that was opened while they were looked for, or since, was not
/// seen. Now that the records say less, no node takes another one.
/// Errors: `busy`: such a one is there; `outcome_unknown`: it cannot be seen.
result<void> none_came_meanwhile(const std::shared_ptr<cluster>& c, duration max_ttl);

}  // namespace holdfast::engines::redlock
