#include "engines/etcd/store.hpp"

#include "engines/etcd/requests.hpp"

#include <algorithm>

namespace holdfast::engines::etcd {

void store::keep(const session_id& id, token order, std::string key) {
  own_.insert_or_assign(order.value, own_entry{id, std::move(key), {}});
  orders_[id].insert(order.value);
}

void store::keep_view(const core::queue_view& v, const entry_table& entries,
                      std::int64_t revision) {
  const auto own = own_.find(v.mine.value);
  if (own == own_.end()) return;
  sight s{.keys = {}, .revision = revision};
  for (const token t : v.targets) {
    const auto* e = entries.find(t);
    if (e == nullptr) continue;
    s.keys.push_back(e->key);
    s.keys.push_back(keys().session(e->what.owner));
  }
  std::ranges::sort(s.keys);
  const auto rest = std::ranges::unique(s.keys);
  s.keys.erase(rest.begin(), rest.end());
  own->second.waits_for = std::move(s);
}

void store::forget(const session_id& id, token order) {
  const auto own = own_.find(order.value);
  if (own == own_.end() || own->second.owner != id) return;
  own_.erase(own);
  const auto at = orders_.find(id);
  at->second.erase(order.value);
  if (at->second.empty()) orders_.erase(at);
}

void store::forget_all(const session_id& id) {
  const auto at = orders_.find(id);
  if (at == orders_.end()) return;
  for (const auto order : at->second) own_.erase(order);
  orders_.erase(at);
}

std::string store::key_of(token order) const {
  const auto at = own_.find(order.value);
  return at == own_.end() ? std::string() : at->second.key;
}

std::vector<std::string> store::keys_of(const session_id& id) const {
  std::vector<std::string> all;
  const auto at = orders_.find(id);
  if (at == orders_.end()) return all;
  for (const auto order : at->second) all.push_back(own_.at(order).key);
  return all;
}

store::sight store::sight_of(token order) const {
  const auto at = own_.find(order.value);
  return at == own_.end() ? sight{} : at->second.waits_for;
}

void store::sweep(std::vector<std::string> keys) {
  if (keys.empty()) return;
  if (keys.size() > requests::sweep_max) keys.resize(requests::sweep_max);
  cluster_->txn(requests::erase(keys), repeat::always, [](const txn_result&) {});
}

}  // namespace holdfast::engines::etcd
