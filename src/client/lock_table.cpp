#include "client/lock_table.hpp"

#include "client/acquisition.hpp"

#include <utility>

namespace holdfast::client {

bool lock_table::add(grant& g, acquisition& taker) {
  const std::lock_guard hold(mutex_);
  if (!names_.emplace(g.name().str(), &g).second) return false;
  g.taker = &taker;
  g.listed = true;
  return true;
}

bool lock_table::is_let_go(std::string_view name) const {
  const std::lock_guard hold(mutex_);
  const auto found = names_.find(name);
  return found != names_.end() && found->second->taker == nullptr && found->second->is_over();
}

bool lock_table::hold(grant& g) {
  const std::lock_guard hold(mutex_);
  g.taker = nullptr;
  own_leases_ = own_leases_ || g.has_own_lease();
  if (!ended_) return true;
  g.lose_own_lease();
  g.listed = false;
  names_.erase(g.name().str());
  return false;
}

void lock_table::keep(grant& g) noexcept {
  const std::lock_guard hold(mutex_);
  g.taker = nullptr;
}

void lock_table::remove(grant& g) noexcept {
  const std::lock_guard hold(mutex_);
  g.taker = nullptr;
  if (!std::exchange(g.listed, false)) return;
  names_.erase(g.name().str());
}

void lock_table::stop() noexcept {
  const std::lock_guard hold(mutex_);
  ended_ = true;
  if (!own_leases_) return;
  for (const auto& [name, g] : names_) {
    if (g->taker == nullptr) g->lose_own_lease();
  }
}

lock_table::content lock_table::all() const {
  const std::lock_guard hold(mutex_);
  content all;
  for (const auto& [name, g] : names_) {
    if (g->taker != nullptr) {
      if (auto taker = g->taker->weak_from_this().lock()) all.pending.push_back(std::move(taker));
    } else if (auto held = g->weak_from_this().lock()) {
      all.held.push_back(std::move(held));
    }
  }
  return all;
}

bool lock_table::empty() const {
  const std::lock_guard hold(mutex_);
  return names_.empty();
}

}  // namespace holdfast::client
