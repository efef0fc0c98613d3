#pragma once

#include "tests/interop/section_log.hpp"
#include "tests/redlock/five_nodes.hpp"

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::interop_tests {

/// Clients of this library, called "holdfast" in the log: each has a session and a thread of its
/// own, and holds one lock for a moment again and again, with pauses in which others get it.
class own_clients {
 public:
  own_clients(const redlock_tests::five_nodes& nodes, const std::string& query, std::string name,
              section_log& log);
  own_clients(const own_clients&) = delete;
  own_clients& operator=(const own_clients&) = delete;
  ~own_clients() { end(); }

  /// No more; every lock is given back.
  void end();
  /// How many locks were lost or their tokens did not grow.
  std::size_t faults() const { return faults_; }
  /// What they were told except that others hold the lock, and how often; for messages.
  std::string troubles() const;

 private:
  void take_part(session by, const std::string& who);
  void hold_once(session& by, const std::string& who, std::uint64_t& last_token);
  void note(const error& e);

  const std::string name_;
  section_log& log_;
  std::atomic<bool> over_{};
  std::atomic<std::size_t> faults_{};
  mutable std::mutex mutex_;
  std::map<std::string, int> troubles_;
  std::vector<std::thread> threads_;
};

}  // namespace holdfast::interop_tests
