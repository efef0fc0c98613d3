#pragma once

#include "core/engine.hpp"
#include "core/redlock/owed_release.hpp"
#include "core/redlock/per_node.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/round.hpp"
#include "engines/redlock/waiters.hpp"
#include "io/thread/turn_mutex.hpp"

#include <memory>

namespace holdfast::engines::redlock {

/// The release of one key on the wire, until no node can have it. It keeps itself alive by what is
/// under way.
///
/// Thread safety: start() on the thread that made it; all others on the loop's.
class releasing final : public io::redis_receiver,
                        public link_listener,
                        public staged,
                        public std::enable_shared_from_this<releasing> {
 public:
  /// `ok`: so many nodes certainly do not have it that others can have a majority.
  using settled = core::on<core::leave_reply>;

  /// `timeout`: how long a node may take for an answer. `w` hears who else waits for it, as far
  /// as the nodes know; null: nobody is called, for the key was never the lock.
  releasing(std::shared_ptr<cluster> c, placed_key key, duration timeout,
            std::shared_ptr<waiters> w = {}, const waiters::parting& how = {.keeps = true});

  /// A lock that was held: those who wait for it are called.
  static void give_back(const std::shared_ptr<cluster>& c, const std::shared_ptr<waiters>& w,
                        placed_key key, duration timeout, settled then);

  /// Sends; `then` runs once: as soon as the lock is free, or after the timeout, but no sooner than
  /// 250 ms where a majority answered until now. On the loop's thread, or before this returns; may
  /// be empty.
  void start(settled then);

  void answered(std::uint64_t tag, const io::redis_answer& a) override;
  void answered_late(std::uint64_t tag, const wire::reply* r, time_point at) override;
  void run() override;
  void connected(node_index i) override;
  void disconnected(node_index i) override;
  bool send_unsent() override;
  void closed() override;

 private:
  using step = core::redlock::owed_release::step;

  /// As start(), in the stage in which things are sent.
  void start_later(settled then) HOLDFAST_EXCLUDES(mutex_);
  node_set up() const;
  void write_release(std::string& bytes, node_index i) const HOLDFAST_REQUIRES(mutex_);
  void send(step& s, time_point now) HOLDFAST_REQUIRES(mutex_);
  void conclude(step s) HOLDFAST_REQUIRES(mutex_);
  void note_others(node_index i, const released& r) const;
  void settle(node_index i, const reading<released>& got, time_point at) HOLDFAST_REQUIRES(mutex_);
  void send_again(node_index i, time_point at) HOLDFAST_REQUIRES(mutex_);
  bool is_free() const HOLDFAST_REQUIRES(mutex_);
  bool is_settled() const HOLDFAST_REQUIRES(mutex_);
  settled take_settled() HOLDFAST_REQUIRES(mutex_);
  void tell(settled done, bool freed) const HOLDFAST_EXCLUDES(mutex_);
  void wake_at(time_point when) HOLDFAST_REQUIRES(mutex_);

  const std::shared_ptr<cluster> cluster_;

  // Never held while anything is called back. What each answer needs is first: a thousand of them
  // do not stay in the processor's cache.
  io::turn_mutex mutex_;
  node_set under_way_ HOLDFAST_GUARDED_BY(mutex_){};  ///< Sent, and neither answered nor given up.
  node_set unsent_ HOLDFAST_GUARDED_BY(mutex_){};     ///< Their connections were full.
  /// They forgot the script once; who does so again is asked later.
  node_set loaded_again_ HOLDFAST_GUARDED_BY(mutex_){};
  bool starts_later_ HOLDFAST_GUARDED_BY(mutex_){};
  bool listens_ HOLDFAST_GUARDED_BY(mutex_){};
  bool over_ HOLDFAST_GUARDED_BY(mutex_){};
  settled then_ HOLDFAST_GUARDED_BY(mutex_){};
  core::redlock::owed_release machine_ HOLDFAST_GUARDED_BY(mutex_);
  core::redlock::per_node<std::uint64_t> connections_ HOLDFAST_GUARDED_BY(mutex_){};
  time_point patience_ HOLDFAST_GUARDED_BY(mutex_){};
  time_point timer_at_ HOLDFAST_GUARDED_BY(mutex_){time_point::max()};
  std::uint64_t timer_ HOLDFAST_GUARDED_BY(mutex_){};

  const std::shared_ptr<waiters> waiters_;
  const waiters::parting how_;
  const placed_key key_;
  const duration timeout_;
};

}  // namespace holdfast::engines::redlock
