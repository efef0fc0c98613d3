#pragma once

#include <holdfast/snapshot.hpp>

#include <string>
#include <vector>

namespace holdfast::cli {

/// What happened to one entry between two looks at a store.
struct change {
  enum class kind {
    waiting,   ///< Somebody queued.
    acquired,  ///< An entry is a holder that was none.
    denied,    ///< An operator ended its session: a holder's lock falls with its ttl.
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

}  // namespace holdfast::cli
