#include <holdfast/snapshot.hpp>

#include <algorithm>

/// By halves, in the order that the lists have: who looks each of many entries up would be
/// quadratic.

namespace holdfast {

const session_info* snapshot::find(const session_id& id) const noexcept {
  const auto at = std::ranges::lower_bound(sessions, id, {}, &session_info::id);
  return at == sessions.end() || at->id != id ? nullptr : &*at;
}

const lock_info* snapshot::find(const lock_name& name) const noexcept {
  const auto at = std::ranges::lower_bound(locks, name, {}, &lock_info::name);
  return at == locks.end() || at->name != name ? nullptr : &*at;
}

}  // namespace holdfast
