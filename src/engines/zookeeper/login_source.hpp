#pragma once

#include "engines/zookeeper/settings.hpp"

#include <holdfast/clock.hpp>

#include <string>

namespace holdfast::engines::zookeeper {

/// The login that connections begin with, and keep: the user, and what is in the password file by
/// then. ZooKeeper never says that a password is wrong, it refuses the nodes.
class login_source {
 public:
  /// `set` lives longer.
  explicit login_source(const settings& set) : set_(set) {}

  /// For a new connection: "user:password"; empty: none.
  const std::string& take() { return taken_ = now(); }
  /// Whether there is another login than was taken last. The file is read at most once a second.
  bool was_replaced();

 private:
  std::string now() const;

  const settings& set_;
  std::string taken_;
  time_point looks_again_{};
};

}  // namespace holdfast::engines::zookeeper
