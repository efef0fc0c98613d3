#pragma once

#include "core/engine.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/node_troubles.hpp"
#include "engines/redlock/replies.hpp"
#include "engines/redlock/session_records.hpp"
#include "engines/redlock/shown_tokens.hpp"
#include "io/thread/mutex.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::engines::redlock {

/// The operation `list`: looks through all nodes, page by page, for sessions and locks, and puts
/// together what a majority has, or may have while some nodes cannot be looked through. A node that
/// hangs delays it little: once a majority has been looked through, the others get as long again,
/// and no less than 100 ms, or a second where they could tell whether a majority has a lock. A lock
/// is shown with the token with which the same client has shown it before. Not one moment: what
/// changes meanwhile may be missed or be old.
///
/// Thread safety: start() once; it keeps itself alive.
class listing final : public std::enable_shared_from_this<listing> {
 public:
  listing(std::shared_ptr<cluster> c, std::shared_ptr<shown_tokens> shown,
          core::on<core::listing> done);
  void start();

 private:
  struct found_lock {
    node_set on{};
    std::map<std::uint64_t, std::size_t> counters{};  ///< How many of them have which.
  };

  void ask(node_index i, const std::string& cursor);
  void read(node_index i, const io::redis_answer& a);
  void add(node_index i, const page& p) HOLDFAST_REQUIRES(mutex_);
  void hurry(duration least) HOLDFAST_REQUIRES(mutex_);
  void late() HOLDFAST_EXCLUDES(mutex_);
  bool is_doubtful(const std::map<std::string, found_lock>& of_name) const
      HOLDFAST_REQUIRES(mutex_);
  bool is_in_doubt() const HOLDFAST_REQUIRES(mutex_);
  void end() HOLDFAST_EXCLUDES(mutex_);
  core::listing incomplete(const result<void>& verdict) const HOLDFAST_REQUIRES(mutex_);
  std::string gaps(const result<void>& verdict) const HOLDFAST_REQUIRES(mutex_);
  static token token_of(const found_lock& l);
  core::listing put_together() HOLDFAST_EXCLUDES(mutex_);

  const std::shared_ptr<cluster> cluster_;
  const std::shared_ptr<shown_tokens> shown_;
  const core::on<core::listing> done_;
  time_point began_{};
  time_point deadline_{};

  io::mutex mutex_;  // Never held while anything is called back.
  bool over_ HOLDFAST_GUARDED_BY(mutex_){};
  bool waited_ HOLDFAST_GUARDED_BY(mutex_){};  ///< For those that are late.
  /// Until a majority was looked through.
  std::optional<duration> needed_ HOLDFAST_GUARDED_BY(mutex_){};
  std::uint64_t timer_ HOLDFAST_GUARDED_BY(mutex_){};  ///< Of the last to be looked through.
  node_set pending_ HOLDFAST_GUARDED_BY(mutex_);
  node_set complete_ HOLDFAST_GUARDED_BY(mutex_);
  node_troubles troubles_ HOLDFAST_GUARDED_BY(mutex_);
  std::string withheld_ HOLDFAST_GUARDED_BY(mutex_){};
  session_records sessions_ HOLDFAST_GUARDED_BY(mutex_);
  /// By name, then by value.
  std::map<std::string, std::map<std::string, found_lock>> locks_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::redlock
