#pragma once

#include "tests/redis_server/server.hpp"
#include "tests/temporary_directory.hpp"

#include <holdfast/redlock.hpp>
#include <holdfast/session.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redlock_tests {

using namespace std::chrono_literals;
using redis_tests::answer;
using redis_tests::server;

/// The URL of the same store for a user, who is "name:password".
std::string as_user(const std::string& user, std::string url);

/// Real servers for one Redlock store, what happens to them, and what is on them. Clients keep
/// their notes in a directory of the test's own.
///
/// One thread: servers die with the thread that started them.
class five_nodes {
 public:
  explicit five_nodes(std::size_t count = 5, const server::options& o = {})
      : five_nodes(std::vector<server::options>(count, o)) {}
  explicit five_nodes(const std::vector<server::options>& each);
  five_nodes(const five_nodes&) = delete;
  five_nodes& operator=(const five_nodes&) = delete;
  ~five_nodes();

  std::size_t size() const { return nodes_.size(); }
  server& operator[](std::size_t i) { return *nodes_.at(i); }
  /// Clients reach the node at another address, behind which it is.
  void reach(std::size_t i, const std::string& address) { addresses_.at(i) = address; }
  /// `first` turns the list: another client of the same store, with connections of its own. The
  /// node timeout is long unless given, so that a busy machine fails no round by accident.
  std::string url(const std::string& query = "ttl=5s", std::size_t first = 0) const;
  /// Writes the node records.
  void init(duration max_ttl = 60s);
  session open(const std::string& query = "ttl=5s", std::size_t first = 0) const;

  void stop(std::size_t i);
  void resume(std::size_t i);
  void kill(std::size_t i);
  /// kill -9 and start.
  void restart(std::size_t i, server::data d);
  void restart_empty(std::size_t from, std::size_t end);
  /// On every node that answers.
  void everywhere(const std::vector<std::string>& command);

  /// How many nodes have the key; those that are stopped or down do not count.
  std::size_t count(const std::string& key);
  /// The longest time that any node keeps the key; less than zero: no node has it.
  std::chrono::milliseconds longest(const std::string& key);
  /// Looks until so many have it.
  bool comes_to(const std::string& key, std::size_t count, std::chrono::milliseconds limit = 20s);
  /// As a client sees them.
  redlock::overview look(const std::string& query = "ttl=5s") const;
  /// Looks until so many nodes vote.
  testing::AssertionResult votes_come_to(std::size_t votes, const std::string& query = "ttl=5s",
                                         std::chrono::milliseconds limit = 20s) const;
  const std::string& state() const { return state_; }
  /// Clients that come from now on are another user's, who has seen none of these processes.
  void forget_sights();

 private:
  bool answers(std::size_t i) const { return !stopped_[i] && nodes_[i]->running(); }

  tests::temporary_directory directory_;
  std::string state_;
  std::vector<std::unique_ptr<server>> nodes_;
  std::vector<std::string> addresses_;
  std::vector<bool> stopped_;
};

}  // namespace holdfast::redlock_tests
