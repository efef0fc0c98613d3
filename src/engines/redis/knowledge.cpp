#include "engines/redis/knowledge.hpp"

#include "core/fnv1a.hpp"

#include <algorithm>

namespace holdfast::engines::redis {

void knowledge::saw_token(std::uint64_t t) noexcept {
  std::uint64_t was = token_.load();
  while (was < t && !token_.compare_exchange_weak(was, t)) {
  }
}

void knowledge::saw_store(bool was_used, duration max_ttl) noexcept {
  max_ttl_ = max_ttl.count();
  if (was_used) was_used_ = true;
}

std::shared_ptr<knowledge> known_stores::of(const std::string& url, const std::string& password) {
  const io::held_mutex hold(mutex_);
  forget_some();
  auto& e = stores_[core::fnv1a(url + '\n' + password)];
  if (!e.what) e.what = std::make_shared<knowledge>();
  e.opened = ++turn_;
  return e.what;
}

/// Who has one open keeps it, and counts among those that share it.
void known_stores::forget_some() {
  const auto is_idle = [](const auto& e) { return e.second.what.use_count() == 1; };
  std::erase_if(stores_,
                [&](const auto& e) { return is_idle(e) && !e.second.what->is_worth_keeping(); });
  if (static_cast<std::size_t>(std::ranges::count_if(stores_, is_idle)) < stores_max) return;
  const auto last = std::ranges::min_element(
      stores_, {}, [&](const auto& e) { return is_idle(e) ? e.second.opened : ~std::uint64_t{}; });
  stores_.erase(last);
}

std::size_t known_stores::size() const {
  const io::held_mutex hold(mutex_);
  return stores_.size();
}

}  // namespace holdfast::engines::redis
