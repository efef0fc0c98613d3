#pragma once

#include "engines/zookeeper/ensemble.hpp"

#include <holdfast/clock.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::engines::zookeeper {

/// What the servers tell about themselves.
struct inspection {
  struct one_server {
    std::string name{};
    std::string version{};      ///< "3.8.0"; empty: it did not tell.
    std::string mode{};         ///< "standalone", "leader", "follower", "observer", "read-only".
    std::string trouble{};      ///< Why it tells nothing.
    duration silence{};         ///< tickTime times syncLimit; zero: it did not tell.
    bool has_local_sessions{};  ///< And this client's is one of them, perhaps.
  };
  std::vector<one_server> servers{};
  std::string trouble{};  ///< Why the store cannot be written to; empty: it can.
  bool open_to_all{};     ///< Everybody who reaches the servers may remove sessions or entries.
};

/// Asks them all, and waits at most a few node timeouts. Not on the loop's thread.
inspection inspect(const std::shared_ptr<ensemble>& e);
/// The same without asking whether the store can be written to.
std::vector<inspection::one_server> look_at_servers(const settings& set);

/// What is behind `key` in lines like "Mode: leader" and "tickTime=2000".
std::string value_in(std::string_view text, std::string_view key);
/// "3.8.0" is not before "3.5.3"; what cannot be read is before nothing.
bool is_before(std::string_view version, std::string_view other);

}  // namespace holdfast::engines::zookeeper
