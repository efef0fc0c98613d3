#pragma once

#include "engines/etcd/cluster.hpp"
#include "engines/etcd/pending_leaves.hpp"
#include "engines/etcd/tables.hpp"
#include "engines/etcd/watches.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::engines::etcd {

/// What the operations of one store share: the cluster, its watches, and where our own entries and
/// those that we wait for are, so that leaving and watching need not look first.
///
/// Thread safety: the loop's thread only, except for its parts that say otherwise.
class store : public std::enable_shared_from_this<store> {
 public:
  explicit store(std::shared_ptr<cluster> c)
      : cluster_(std::move(c)), watches_(std::make_shared<watches>(cluster_)) {
    cluster_->listen(watches_);
  }

  etcd::cluster& servers() const noexcept { return *cluster_; }
  const std::shared_ptr<etcd::cluster>& shared_servers() const noexcept { return cluster_; }
  const key_space& keys() const noexcept { return cluster_->keys(); }
  etcd::watches& watching() const noexcept { return *watches_; }
  const std::shared_ptr<etcd::watches>& shared_watches() const noexcept { return watches_; }
  pending_leaves& leaves() noexcept { return leaves_; }

  /// Our entry is there, granted or waiting.
  void keep(const session_id& id, token order, std::string key);
  /// For a waiter: where its targets are. `entries` holds them.
  void keep_view(const core::queue_view& v, const entry_table& entries, std::int64_t revision);
  /// Unless it is another session's.
  void forget(const session_id& id, token order);
  void forget_all(const session_id& id);
  /// Empty when it is not known.
  std::string key_of(token order) const;
  std::vector<std::string> keys_of(const session_id& id) const;

  struct sight {
    std::vector<std::string> keys{};
    std::int64_t revision{};
  };
  /// What a waiter has to watch; no keys when its view is not known.
  sight sight_of(token order) const;

  /// What a refusal to put `key` means, once it is true: a server that has run out of space may
  /// have put it all the same. Deleting needs none.
  void take_back(const std::string& key, const txn_result& refusal, core::on<core::reply> then);

  /// These sessions as they were in this revision, in as many transactions as it takes: one that
  /// read all of the store would grow with those whom nobody asks for. Unless the reply is ok not
  /// all of them are there.
  using on_sessions = std::function<void(core::reply, const session_table&)>;
  void read_sessions(std::vector<session_id> ids, std::int64_t revision, on_sessions then);

  /// Deletes entries that are dead for good, without waiting for it.
  void sweep(std::vector<std::string> keys);
  /// Looks for dead entries of names that nobody asks for, a page at a time, and deletes at most
  /// sweep_max of them; without waiting for it.
  void sweep_some();
  /// A session was opened: sweeps now and then.
  void opened();

 private:
  /// Deletes those of its entries whose sessions are gone.
  void took_page(const wire::etcd::txn_reply& reply);
  struct session_look;
  /// Some sessions at a time, until none is left.
  void go_on(const std::shared_ptr<session_look>& look);

  struct own_entry {
    session_id owner{};
    std::string key{};
    sight waits_for{};
  };
  const std::shared_ptr<etcd::cluster> cluster_;
  const std::shared_ptr<etcd::watches> watches_;
  pending_leaves leaves_;
  std::unordered_map<std::uint64_t, own_entry> own_;
  std::map<session_id, std::set<std::uint64_t>> orders_;
  std::string sweep_from_;  ///< Empty: from the first entry.
  bool sweeping_{};
  unsigned opened_{};
};

}  // namespace holdfast::engines::etcd
