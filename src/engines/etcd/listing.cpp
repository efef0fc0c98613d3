#include "engines/etcd/listing.hpp"

#include "core/replies.hpp"
#include "engines/etcd/requests.hpp"

#include <map>
#include <utility>

namespace holdfast::engines::etcd {

using core::status;

namespace {

constexpr unsigned tries_max = 4;

/// The first key behind the last one of the page; nothing when it was the last page.
std::optional<std::string> behind(const wire::etcd::range_reply& page) {
  if (!page.more || page.all.empty()) return {};
  // No key is between these two.
  return std::string(page.all.back().key) + '\0';
}

}  // namespace

void listing::start() {
  revision_ = 0;
  sessions_from_ = store_->keys().sessions().key;
  entries_from_ = store_->keys().queues().key;
  sessions_ = {};
  entries_ = {};
  ask();
}

void listing::ask() {
  store_->servers().txn(requests::list(store_->keys(), sessions_from_, entries_from_, revision_),
                        repeat::always,
                        [self = shared_from_this()](const txn_result& r) { self->took(r); });
}

void listing::took(const txn_result& r) {
  // Its history went while pages were read: what is there is another picture.
  if (r.compacted && ++tries_ < tries_max) return start();
  if (r.what != status::ok) return refuse(r);
  const auto& ops = r.reply->ops;
  const std::size_t asked = (sessions_from_ ? 1U : 0U) + (entries_from_ ? 1U : 0U);
  if (ops.size() != asked) return refuse({status::unknown, "the answer is in no known form"});
  if (revision_ == 0) revision_ = r.reply->head.revision;
  std::size_t at = 0;
  if (sessions_from_) {
    sessions_.add(store_->keys(), ops[at].range);
    sessions_from_ = behind(ops[at++].range);
  }
  if (entries_from_) {
    const auto epoch = store_->servers().epoch().value.number;
    entries_.add(store_->keys(), epoch, ops[at].range);
    entries_from_ = behind(ops[at].range);
  }
  sessions_from_ || entries_from_ ? ask() : conclude();
}

void listing::conclude() {
  for (const auto& damage : {sessions_.damage(), entries_.damage()}) {
    if (damage.empty()) continue;
    return refuse(
        {status::damaged, "the key " + damage + " is not of holdfast, or of a newer one"});
  }
  core::listing all;
  all.what = status::ok;
  all.revision = static_cast<std::uint64_t>(revision_);
  for (const auto& [id, record] : sessions_.all()) all.sessions.push_back(record);
  std::map<lock_name, std::vector<core::entry>> locks;
  for (const auto& e : entries_.all()) {
    if (sessions_.find(e.what.owner, e.what.inc) != nullptr) locks[e.name].push_back(e.what);
  }
  for (auto& [name, live] : locks) all.locks.push_back({name, std::move(live)});
  done_(std::move(all));
}

void listing::refuse(core::reply why) { done_(core::reply_with<core::listing>(std::move(why))); }

}  // namespace holdfast::engines::etcd
