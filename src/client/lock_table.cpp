#include "client/lock_table.hpp"

#include "client/acquisition.hpp"
#include "core/assert.hpp"

#include <functional>
#include <utility>

/// A name is in the table from before its acquire begins until the store has let its entry go, so
/// that one session never waits for itself. What is found here is called without the mutex.

namespace holdfast::client {

namespace {

std::uint64_t hash_of(std::string_view name) noexcept {
  return std::hash<std::string_view>()(name);
}

}  // namespace

grant* lock_table::find(std::string_view name, std::uint64_t hash) const {
  return names_.find(hash, [&](const grant& g) { return g.name().str() == name; });
}

void lock_table::erase(grant& g) noexcept {
  if (std::exchange(g.place_.listed, false)) names_.erase(g.place_.hash, g);
}

lock_table::added lock_table::add(grant& g, acquisition& taker) {
  const std::uint64_t hash = hash_of(g.name().str());
  const io::held_mutex hold(mutex_);
  HOLDFAST_ASSERT(!g.place_.listed && g.place_.taker == nullptr);
  // All that hear of the end were found already.
  if (ended_) return added::session_is_over;
  if (const grant* const there = find(g.name().str(), hash); there != nullptr) {
    const bool let_go = there->place_.taker == nullptr && there->is_over();
    return let_go ? added::let_go : added::name_is_there;
  }
  names_.insert(hash, g);
  g.place_.hash = hash;
  g.place_.taker = &taker;
  g.place_.listed = true;
  return added::yes;
}

bool lock_table::hold(grant& g) {
  const io::held_mutex hold(mutex_);
  HOLDFAST_ASSERT(g.place_.listed && g.place_.taker != nullptr);
  g.place_.taker = nullptr;
  own_leases_ = own_leases_ || g.has_own_lease();
  if (!ended_) return true;
  g.lose_own_lease();
  erase(g);
  return false;
}

void lock_table::keep(grant& g) noexcept {
  const io::held_mutex hold(mutex_);
  HOLDFAST_ASSERT(g.place_.listed && g.place_.taker != nullptr);
  g.place_.taker = nullptr;
}

void lock_table::remove(grant& g) noexcept {
  const io::held_mutex hold(mutex_);
  g.place_.taker = nullptr;
  erase(g);
}

void lock_table::stop() noexcept {
  const io::held_mutex hold(mutex_);
  ended_ = true;
  // The others have the session's lease, which is lost already.
  if (!own_leases_) return;
  names_.for_each([](grant& g) {
    if (g.place_.taker == nullptr) g.lose_own_lease();
  });
}

lock_table::content lock_table::all() const {
  const io::held_mutex hold(mutex_);
  content all;
  // Both are weak: one whose last owner lets go now waits for this mutex to leave the table, and
  // must not be found alive.
  names_.for_each([&](grant& g) {
    if (g.place_.taker != nullptr) {
      if (auto taker = g.place_.taker->weak_from_this().lock())
        all.pending.push_back(std::move(taker));
    } else if (auto held = g.weak_from_this().lock()) {
      all.held.push_back(std::move(held));
    }
  });
  return all;
}

bool lock_table::empty() const {
  const io::held_mutex hold(mutex_);
  return names_.empty();
}

}  // namespace holdfast::client
