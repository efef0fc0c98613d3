#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/snapshot.hpp>

#include <string>
#include <vector>

namespace holdfast::cli {

/// What happened to one entry between two looks at a store.
struct change {
  enum class kind {
    waiting,   ///< Somebody queued.
    acquired,  ///< An entry is a holder that was none.
    released,  ///< A holder is no longer there, however that came.
    gone,      ///< Somebody who waited is no longer there.
  };
  kind what;
  lock_name name;
  entry_info entry;  ///< As it was last seen.
};

const char* name_of(change::kind k) noexcept;

/// In an order that makes sense: what went before what came. Whatever came and went between the two
/// looks is not seen.
std::vector<change> changes_between(const snapshot& before, const snapshot& after);

/// How long to leave a store alone after a look at all of it that took so long, and one before: a
/// change in a small one is seen at once, and a large one is busy with us a tenth of the time. Of
/// the two the shorter counts: a store that stood still for a moment is no large one.
duration pause_after_looks(duration last, duration before) noexcept;

}  // namespace holdfast::cli
