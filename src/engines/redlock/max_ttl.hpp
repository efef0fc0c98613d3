#pragma once

#include "engines/redlock/cluster.hpp"
#include "engines/redlock/settings.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::engines::redlock {

// The longest ttl that a store takes: the nodes' records say it, the URL may ask for less, and an
// operator may change it.

/// What a majority of those that vote allows; records may differ after a change of max_ttl. Zero
/// without records.
duration longest_ttl(const cluster& c);

/// What an operator can do about a ttl that is longer.
std::string ttl_too_long(duration ttl, duration most);

/// The longest that a node's record says; zero: there is none.
duration kept_max_ttl(const cluster& c);

/// What was asked for, which nothing but zero leaves out, else what the nodes still have, else the
/// default.
duration max_ttl_of(duration asked, const cluster& c);

/// Why no session can be opened with this URL: a ttl that is named is never shortened; empty when
/// it fits.
std::string ttl_above(const settings& s, duration max_ttl);

/// What to do about a URL with another max_ttl than the nodes; empty when it has none.
std::string other_max_ttl(const settings& s, duration recorded, const std::string& where);

/// What has to be so before `max_ttl` is written for `verb`; `shortens`: the nodes allowed a longer
/// one. Blocks.
/// Errors: `invalid_argument`, and those of long_sessions_ended().
result<void> may_set_max_ttl(const std::shared_ptr<cluster>& c, duration max_ttl,
                             std::string_view verb, bool shortens);

/// Before a shorter max_ttl is written: whether nobody holds with a longer ttl. Blocks.
/// Errors: `busy`: somebody may; `unavailable`: it cannot be seen.
result<void> long_sessions_ended(const std::shared_ptr<cluster>& c, duration max_ttl);

/// The same behind the writes: one that was opened while they were looked for, or since, was not
/// seen. Now that the records say less, no node takes another one.
/// Errors: `busy`: such a one is there; `outcome_unknown`: it cannot be seen.
result<void> none_came_meanwhile(const std::shared_ptr<cluster>& c, duration max_ttl);

}  // namespace holdfast::engines::redlock
