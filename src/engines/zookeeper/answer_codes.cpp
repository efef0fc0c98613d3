#include "engines/zookeeper/answer_codes.hpp"

namespace holdfast::engines::zookeeper {

using io::zoo_code;

bool is_answer(zoo_code c) noexcept {
  switch (c) {
    case zoo_code::ok:
    case zoo_code::no_node:
    case zoo_code::bad_version:
    case zoo_code::node_exists:
    case zoo_code::not_empty:
      return true;
    default:
      return false;
  }
}

bool is_refusal(zoo_code c) noexcept {
  switch (c) {
    case zoo_code::not_allowed:
    case zoo_code::invalid_acl:
    case zoo_code::invalid_state:
    case zoo_code::session_expired:
    case zoo_code::session_moved:
    case zoo_code::read_only:
    case zoo_code::quota_exceeded:
    case zoo_code::throttled:
    case zoo_code::unimplemented:
      return true;
    default:
      return false;
  }
}

bool passes(zoo_code c) noexcept {
  return c != zoo_code::not_allowed && c != zoo_code::invalid_acl && c != zoo_code::unimplemented &&
         c != zoo_code::quota_exceeded;
}

std::string refusal_text(zoo_code code, const settings& set) {
  std::string text = "ZooKeeper: " + print(code);
  if (code == zoo_code::not_allowed) {
    return text + (set.user.empty()
                       ? "; the nodes below " + set.root +
                             " belong to a user: zookeeper://USER@host?password_file="
                       : "; the nodes below " + set.root + " do not belong to the user '" +
                             set.user + "' with this password");
  }
  if (code == zoo_code::quota_exceeded) {
    return "ZooKeeper: the quota of " + set.root +
           ", or of a node above it, is used up; raise it (setquota of zkCli.sh)";
  }
  if (code == zoo_code::unimplemented) return text + "; 3.5.3 or later is needed";
  if (code == zoo_code::connection_lost) return text + ", or no answer in time";
  return text;
}

}  // namespace holdfast::engines::zookeeper
