#pragma once

#include "engines/etcd/cluster.hpp"

#include <holdfast/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::etcd {

/// What the servers tell about themselves.
struct inspection {
  struct one_member {
    std::string name{};
    std::string version{};
    std::string trouble{};
    std::vector<std::string> errors{};
    std::int64_t database_bytes{};
    std::int64_t database_bytes_used{};
    bool ready{};
    bool foreign{};  ///< It belongs to another cluster than those that are used.

    bool has_no_leader() const;
  };
  std::vector<one_member> members{};
  std::int64_t revision{};   ///< Zero: nobody told.
  bool whole_history{};      ///< The first revision can still be read.
  std::int64_t lease_min{};  ///< The shortest lease in seconds; zero: nobody told.
};

/// Asks them all, and waits at most a few node timeouts. Not on the loop's thread.
inspection inspect(const std::shared_ptr<cluster>& c);

/// The store's identity as text; waits at most a node timeout for the first server that answers.
/// Does not wait where a session is open. Errors: `unavailable`.
result<std::string> identity_of(const cluster& c);

}  // namespace holdfast::engines::etcd
