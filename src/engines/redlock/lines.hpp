#pragma once

#include "engines/redlock/cluster.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::redlock {

/// Who waits for its turn in a line.
class lined_up {
 public:
  lined_up() = default;
  lined_up(const lined_up&) = delete;
  lined_up& operator=(const lined_up&) = delete;
  virtual ~lined_up() = default;
  enum class cue : std::uint8_t {
    first,  ///< It is the first one now, and contends.
    held,   ///< The same, but a holder of this process has the lock.
    freed,  ///< A holder of this process has let it go.
    heard,  ///< A node said that somebody released it: other processes have heard that, too.
  };
  virtual void turn(cue what) = 0;
};

/// The waiters of this process for each lock, in the order in which they came. Only the first one
/// contends with other processes, so that a hundred waiters cost the nodes no more than one; it is
/// told when the lock may be free: by a release of this process, or by a message of the nodes.
///
/// Thread safety: every function, from any thread. turn() is called on the loop's thread or on that
/// of the caller, never under a mutex.
class lines final : public link_listener, public std::enable_shared_from_this<lines> {
 public:
  explicit lines(std::shared_ptr<cluster> c) : cluster_(std::move(c)) {}

  /// True when it is the first.
  bool join(const std::string& name, const std::shared_ptr<lined_up>& who);
  /// It was granted, or waits no more; the next one gets its turn.
  void leave(const std::string& name, const lined_up& who, bool granted);
  /// The first one found it taken: from now on messages of the nodes are listened to.
  void listen_for(const std::string& name);
  /// A holder of this process has let it go.
  void freed(const std::string& name);

  void connected(node_index i) override;
  void disconnected(node_index) override {}
  void heard(std::string_view name) override;

 private:
  struct line {
    std::deque<std::shared_ptr<lined_up>> waiters{};
    node_set subscribed{};
    int streak{};  ///< How often in a row the lock stayed in this process.
  };

  /// Where the messages of a name are listened to: two nodes, so that one may be down.
  node_set posts(const std::string& name) const;
  void subscribe(const std::string& name, node_set where);
  void unsubscribe(const std::string& name, node_set where);
  void deaf(const std::string& name, node_index i);

  const std::shared_ptr<cluster> cluster_;
  void tell_first(std::string_view name, bool own);

  std::mutex mutex_;
  std::map<std::string, line, std::less<>> lines_;
};

}  // namespace holdfast::engines::redlock
