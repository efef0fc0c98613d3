#include "engines/memory/watcher.hpp"

#include <algorithm>

namespace holdfast::engines::memory {

bool watcher::hit(const core::ledger& l) const {
  return std::any_of(what_.targets.begin(), what_.targets.end(),
                     [&](token t) { return !l.alive(what_.name, t); });
}

}  // namespace holdfast::engines::memory
