#pragma once

#include "core/records.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace holdfast::core {

/// \file
/// The rules of one lock's queue, as functions of its **live** entries in order of arrival.
/// Every engine and the simulator use these, so that none has rules of its own.

/// True when the two may never be held together. For permits this is only about the mode; how many
/// there may be is granted()'s business.
bool excludes(const mode& a, const mode& b) noexcept;

/// True when both are permits of the same n, or neither is permits.
bool agrees(const mode& a, const mode& b) noexcept;

/// True when an entry of mode `how` fits all live entries: else the name is used in two ways.
bool fits(std::span<const entry> live, const mode& how) noexcept;

/// True when the entry with order `mine` holds the lock: exclusive when it is the oldest; shared
/// when no older entry is exclusive; permits(n) when fewer than n are older. False when absent.
bool granted(std::span<const entry> live, token mine) noexcept;

/// Which older entries the waiter `mine` must watch; a change of any is a reason to look again.
///
/// | waiter     | watches                                                              |
/// |------------|----------------------------------------------------------------------|
/// | exclusive  | the youngest older entry                                             |
/// | shared     | the youngest older entry that is not shared                          |
/// | permits(n) | the n youngest older entries                                         |
///
/// Permits: n or more are older than a waiter, and it is granted when fewer than n are left. By
/// then one of any n of them is gone, so no grant is missed, and one departure wakes at most n
/// waiters. (To watch only the first waiter would miss that it was granted: it is still there.)
///
/// Empty when it is granted or absent.
std::vector<token> watch_targets(std::span<const entry> live, token mine);

/// How many live entries are older than `mine`.
std::size_t ahead_of(std::span<const entry> live, token mine) noexcept;

}  // namespace holdfast::core
