#pragma once

#include "tests/redis_server/witness.hpp"

#include <holdfast/session.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::redis_tests {

/// Clients that contend for one name without a break, one for each URL, with a session of its own,
/// until the contest is over. Most hold it for a moment; some for so long that a lease of a second
/// is extended meanwhile. A client whose session is lost opens another one.
class contest {
 public:
  explicit contest(std::vector<std::string> urls, std::string name = "contended",
                   bool tokens = true);
  contest(const contest&) = delete;
  contest& operator=(const contest&) = delete;
  ~contest() { end(); }

  /// Waits until so many more were granted; false when that takes too long.
  bool more(std::uint64_t grants, std::chrono::milliseconds limit = std::chrono::seconds{60});
  /// Waits until nobody was granted it for so long; false when that takes too long.
  bool rests(std::chrono::milliseconds length,
             std::chrono::milliseconds limit = std::chrono::seconds{30});
  /// Lets each client give back what it holds and ask for nothing, and then does it.
  void while_nobody_asks(const std::function<void()>& what);
  /// No more; every lock is given back.
  void end();
  std::uint64_t grants() const { return seen_.grants(); }
  std::vector<std::string> violations() const { return seen_.violations(); }
  /// What clients were told, and how often; for messages.
  std::string troubles() const;
  /// How many sessions ended before the contest.
  int lost_sessions() const { return lost_sessions_; }

 private:
  void take_part(const std::string& url);
  void hold_once(session& by);
  void note(const error& e);

  const std::string name_;
  witness seen_;
  std::atomic<bool> over_{};
  std::atomic<bool> pauses_{};
  std::shared_mutex asking_;  ///< Shared by who asks or holds.
  std::atomic<int> lost_sessions_{};
  std::atomic<unsigned> holds_{};
  mutable std::mutex mutex_;
  std::map<std::string, int> troubles_;
  std::vector<std::thread> clients_;
};

}  // namespace holdfast::redis_tests
