#include "engines/etcd/store.hpp"

#include "core/assert.hpp"
#include "core/replies.hpp"
#include "engines/etcd/requests.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace holdfast::engines::etcd {

void store::keep(const session_id& id, token order, std::string key) {
  // A cluster that was restored from a backup gives orders a second time.
  if (const auto before = own_.find(order.value); before != own_.end()) {
    const auto owner = before->second.owner;
    forget(owner, order);
  }
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
    // An entry also ends with its session, which deletes no entry.
    s.keys.push_back(keys().session(e->what.owner));
  }
  std::ranges::sort(s.keys);
  s.keys.erase(std::unique(s.keys.begin(), s.keys.end()), s.keys.end());
  own->second.waits_for = std::move(s);
}

void store::forget(const session_id& id, token order) {
  const auto own = own_.find(order.value);
  if (own == own_.end() || own->second.owner != id) return;
  own_.erase(own);
  const auto at = orders_.find(id);
  HOLDFAST_ASSERT(at != orders_.end() && at->second.contains(order.value));
  at->second.erase(order.value);
  if (at->second.empty()) orders_.erase(at);
}

void store::forget_all(const session_id& id) {
  const auto at = orders_.find(id);
  if (at == orders_.end()) return;
  for (const auto order : at->second) {
    const auto own = own_.find(order);
    HOLDFAST_ASSERT(own != own_.end() && own->second.owner == id);
    own_.erase(own);
  }
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
  for (const auto order : at->second) {
    const auto own = own_.find(order);
    HOLDFAST_ASSERT(own != own_.end() && own->second.owner == id);
    all.push_back(own->second.key);
  }
  return all;
}

store::sight store::sight_of(token order) const {
  const auto at = own_.find(order.value);
  return at == own_.end() ? sight{} : at->second.waits_for;
}

void store::take_back(const std::string& key, const txn_result& refusal,
                      core::on<core::reply> then) {
  core::reply why = refusal;
  if (!refusal.full) return then(std::move(why));
  cluster_->txn(requests::erase(std::vector{key}), repeat::always,
                [why = std::move(why), then = std::move(then)](const txn_result& r) {
                  then(r.what == core::status::ok ? why : core::reply_as(core::status::unknown, r));
                });
}

struct store::session_look {
  std::vector<session_id> left{};
  std::int64_t revision{};
  on_sessions then{};
  session_table read{};
};

void store::read_sessions(std::vector<session_id> ids, std::int64_t revision, on_sessions then) {
  auto look = std::make_shared<session_look>();
  look->left = std::move(ids);
  look->revision = revision;
  look->then = std::move(then);
  go_on(look);
}

void store::go_on(const std::shared_ptr<session_look>& look) {
  auto& left = look->left;
  if (left.empty()) return look->then({core::status::ok, {}}, look->read);
  const auto count = std::min(left.size(), requests::sessions_max);
  const auto t = requests::sessions(keys(), std::span(left).last(count), look->revision);
  left.resize(left.size() - count);
  cluster_->txn(t, repeat::always, [self = shared_from_this(), look](const txn_result& r) {
    if (r.what != core::status::ok) return look->then(r, look->read);
    for (const auto& o : r.reply->ops) look->read.add(self->keys(), o.range);
    self->go_on(look);
  });
}

void store::sweep(std::vector<std::string> keys) {
  if (keys.empty()) return;
  if (keys.size() > requests::sweep_max) keys.resize(requests::sweep_max);
  // What stays is met again.
  cluster_->txn(requests::erase(keys), repeat::always, [](const txn_result&) {});
}

void store::opened() {
  // Also the first time: whoever comes clears away, and most programs open one session.
  constexpr unsigned every = 16;
  if (opened_++ % every == 0) sweep_some();
}

void store::sweep_some() {
  if (std::exchange(sweeping_, true)) return;
  cluster_->txn(requests::page(keys(), sweep_from_), repeat::always,
                [self = shared_from_this()](const txn_result& r) {
                  self->sweeping_ = false;
                  if (r.what == core::status::ok && !r.reply->ops.empty()) {
                    self->took_page(*r.reply);
                  }
                });
}

void store::took_page(const wire::etcd::txn_reply& reply) {
  const auto& page = reply.ops[0].range;
  std::vector<std::pair<std::string, core::entry>> entries;
  std::set<session_id> owners;
  for (const auto& kv : page.all) {
    const auto part = keys().parse_entry(kv.key);
    if (!part) continue;
    entries.emplace_back(kv.key, part->what);
    owners.insert(part->what.owner);
  }
  // The first key behind the last one.
  sweep_from_ = page.more && !page.all.empty() ? std::string(page.all.back().key) + '\0' : "";
  if (owners.empty()) return;
  read_sessions({owners.begin(), owners.end()}, reply.head.revision,
                [self = shared_from_this(), entries = std::move(entries)](
                    const core::reply& r, const session_table& sessions) {
                  // Of an owner that cannot be read nobody can say that it is gone.
                  if (r.what != core::status::ok || !sessions.damage().empty()) return;
                  std::vector<std::string> dead;
                  for (const auto& [key, e] : entries) {
                    if (sessions.find(e.owner, e.inc) == nullptr) dead.push_back(key);
                  }
                  self->sweep(std::move(dead));
                });
}

}  // namespace holdfast::engines::etcd
