#pragma once

#include "tests/redlock/five_nodes.hpp"
#include "tests/redlock/witness.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::redlock_tests {

/// Clients that contend for one name without a break, each with connections and a session of its
/// own, until the contest is over. A client whose session is lost opens another one.
class contest {
 public:
  struct options {
    std::string query{"ttl=5s"};
    std::string name{"contended"};
    std::size_t clients{3};
    bool tokens{true};
  };
  contest(const five_nodes& nodes, options o);
  contest(const contest&) = delete;
  contest& operator=(const contest&) = delete;
  ~contest() { end(); }

  /// Waits until so many more were granted; false when that takes too long.
  bool more(std::uint64_t grants, std::chrono::milliseconds limit = 20s);
  /// No more; every lock is given back.
  void end();
  std::uint64_t grants() const { return seen_.grants(); }
  std::vector<std::string> violations() const { return seen_.violations(); }
  /// What clients were told, and how often; for messages.
  std::string troubles() const;

 private:
  void take_part(const std::string& url);
  void hold_once(session& by);
  void note(const error& e);

  const options options_;
  witness seen_;
  std::atomic<bool> over_{};
  mutable std::mutex mutex_;
  std::map<std::string, int> troubles_;
  std::vector<std::thread> clients_;
};

}  // namespace holdfast::redlock_tests
