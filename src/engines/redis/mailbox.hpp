#pragma once

#include "core/engine.hpp"
#include "io/thread/loop.hpp"
#include "io/thread/mutex.hpp"
#include "io/thread/notice.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace holdfast::engines::redis {

/// The waiting entries of this client, and what is notified when one of them should look again.
///
/// An entry is known here from the moment its view has come: what is said about it before anybody
/// watches is kept, so that nothing between the view and the watch is missed.
///
/// Thread safety: every function, from any thread. Notifications run on the loop's thread, outside
/// the mutex.
class mailbox final : public std::enable_shared_from_this<mailbox> {
 public:
  explicit mailbox(std::shared_ptr<io::loop> l) : loop_(std::move(l)) {}

  /// A view said that this entry waits. `in_order`: what was rung before came before the view.
  void expect(token order, const session_id& owner, bool in_order);
  /// It waits no more.
  void forget(token order);
  void forget_all_of(const session_id& owner);

  /// The server says that it should look again, or, in a message that can be trusted, that it
  /// holds the lock.
  void ring(token order, bool holds);
  /// Whether the server has said that this session's entry holds the lock, on the connection of
  /// now. Once: whoever asks again wants to know how it is now.
  bool take_grant(token order, const session_id& owner);
  /// Messages may have been lost, or everything.
  void ring_all();

  std::unique_ptr<core::watch_handle> watch(token order, std::function<void()> notify);

 private:
  class armed;
  using notices = std::vector<std::shared_ptr<io::notice>>;
  struct waiting {
    session_id owner{};
    bool expected{};
    bool rung{};  ///< Since the last view, also if it was notified: a watch may be an older one.
    bool given{};
    notices watchers{};
  };

  /// The watch is over. The entry stays while a view of it was seen and nothing ended it.
  void disarm(token order, const std::shared_ptr<io::notice>& n);
  /// Without the mutex, for a notice calls whoever waits.
  static void fire(const notices& all);

  const std::shared_ptr<io::loop> loop_;
  io::mutex mutex_;
  std::unordered_map<std::uint64_t, waiting> entries_ HOLDFAST_GUARDED_BY(mutex_);
  /// Orders that were rung before their view came, which a connection of their own makes possible.
  std::deque<std::uint64_t> early_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::engines::redis
