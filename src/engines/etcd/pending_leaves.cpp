#include "engines/etcd/pending_leaves.hpp"

#include "core/assert.hpp"

#include <utility>

namespace holdfast::engines::etcd {

void pending_leaves::ended(const lock_name& name) {
  const auto at = of_.find(name.str());
  HOLDFAST_ASSERT(at != of_.end());
  if (--at->second.count > 0) return;
  const auto behind = std::move(at->second.behind);
  of_.erase(at);
  for (const auto& then : behind) then();
}

void pending_leaves::after(const lock_name& name, std::function<void()> then) {
  const auto at = of_.find(name.str());
  if (at == of_.end()) return then();
  at->second.behind.push_back(std::move(then));
}

}  // namespace holdfast::engines::etcd
