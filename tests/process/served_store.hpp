#pragma once

#include <holdfast/clock.hpp>

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::process {

/// The store of one test, and the processes that serve it, if there are any. They end with this
/// object, or with the program where stores share them.
class served_store {
 public:
  served_store() = default;
  served_store(const served_store&) = delete;
  served_store& operator=(const served_store&) = delete;
  virtual ~served_store() = default;

  /// With a node_timeout that fits every ttl of these tests.
  virtual std::string url() const = 0;
  /// With one that a busy machine keeps too.
  virtual std::string patient_url() const { return url(); }
  /// Children of the test's own.
  virtual std::vector<pid_t> servers() const { return {}; }
};

/// One engine under test: how to make a fresh store, in an empty directory if it needs one.
struct store_kind {
  std::string name;
  std::unique_ptr<served_store> (*make)(const std::string& directory);
  duration ttl_min{std::chrono::milliseconds{200}};  ///< The shortest that is tried.
};

inline void PrintTo(const store_kind& kind, std::ostream* out) { *out << kind.name; }

/// Every engine of this build whose stores other processes can use, and where those of this host
/// see that a process has ended.
std::vector<store_kind> all_stores();
/// Those and Redlock, where only the ttl frees what a killed process held.
std::vector<store_kind> all_stores_and_redlock();
/// The embedded engine alone, for tests of its files; empty when it is left out of the build.
std::vector<store_kind> local_stores();
std::string kind_name(const testing::TestParamInfo<store_kind>& info);

}  // namespace holdfast::process
