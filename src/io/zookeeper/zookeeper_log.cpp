#include "io/zookeeper/zookeeper_log.hpp"

#include <utility>

/// The library's log is the only place where it says why a server is of no use. Its lines are taken
/// apart by what Debian's 3.8.0 writes; one that is not known says nothing.

namespace holdfast::io {

namespace {

thread_local std::string* heard = nullptr;

}  // namespace

zookeeper_log::zookeeper_log(std::string& to) noexcept : outer_(std::exchange(heard, &to)) {}
zookeeper_log::~zookeeper_log() { heard = outer_; }

void zookeeper_log::take(const char* line) {
  if (heard != nullptr) *heard = line;
}

// "...: Socket ADDRESS zk retcode=-4, errno=111(Connection refused): server refused ..."
std::string zookeeper_log::trouble_in(const std::string& line, bool greeted) {
  const auto part = [&line](std::string_view from, std::string_view to) -> std::string {
    const auto begin = line.find(from);
    const auto end = line.find(to, begin);
    if (begin == std::string::npos || end == std::string::npos) return {};
    return line.substr(begin + from.size(), end - begin - from.size());
  };
  const std::string number = part("errno=", "(");
  std::string reason = part("errno=" + number + "(", "):");
  if (reason.empty()) return {};
  // The first is the library's own word for an end of file.
  for (const char* end : {"Host is down", "Broken pipe", "Connection reset by peer"}) {
    if (reason != end) continue;
    reason = "closes the connection";
    if (!greeted) {
      reason +=
          " before it says anything; has it a leader, and does it take more connections of this "
          "host (maxClientCnxns)?";
    }
    break;
  }
  if (reason == "Connection timed out") {
    reason = "does not answer: it hangs, or is no ZooKeeper";
  }
  if (reason == "Connection refused") reason = "refuses the connection; does it run there?";
  return part("Socket ", " zk retcode") + " " + reason;
}

bool zookeeper_log::says_nobody_is_there(std::string_view line) {
  const auto has = [line](std::string_view part) { return line.find(part) != line.npos; };
  return has("(Connection refused)") || has("(No route to host)") ||
         has("(Network is unreachable)");
}

}  // namespace holdfast::io
