#pragma once

#include <holdfast/lock_name.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace holdfast::engines::etcd {

/// The leaves of this client that are not answered yet, by name. A server carries out the calls of
/// one connection in any order, so that an enqueue which is sent behind a leave may still be
/// refused for the entry that leaves.
///
/// Thread safety: the loop's thread only.
class pending_leaves {
 public:
  void began(const lock_name& name) { ++of_[name.str()].count; }
  /// Once for each began().
  void ended(const lock_name& name);
  bool has(const lock_name& name) const { return of_.contains(name.str()); }
  /// Calls `then` when none of this name is under way, perhaps at once.
  void after(const lock_name& name, std::function<void()> then);

 private:
  struct of_name {
    std::size_t count{};
    std::vector<std::function<void()>> behind{};
  };
  std::map<std::string, of_name> of_;
};

}  // namespace holdfast::engines::etcd
