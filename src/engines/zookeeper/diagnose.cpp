#include "engines/zookeeper/diagnose.hpp"

#include "engines/zookeeper/inspection.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <string>

namespace holdfast::engines::zookeeper {

namespace {

using namespace std::chrono_literals;
using findings = std::vector<finding>;

constexpr const char* oldest_version = "3.5.3";
// Debian's tickTime=2000 times its syncLimit=5, and then an election.
constexpr duration debian_silence = 10s;
constexpr duration election = 1s;

void judge_servers(const inspection& seen, findings& all) {
  std::size_t serving = 0;
  bool alone = false;
  for (const auto& s : seen.servers) {
    const bool cut_off = s.mode == "read-only";
    serving += s.mode.empty() || cut_off ? 0 : 1;
    alone = alone || s.mode == "standalone";
    if (!s.trouble.empty()) {
      all.push_back({severity::warning, "server", s.trouble});
      continue;
    }
    if (is_before(s.version, oldest_version)) {
      all.push_back({severity::fault, "server",
                     s.name + " is version " + s.version + "; containers need " + oldest_version +
                         " or later"});
      continue;
    }
    if (cut_off) {
      all.push_back({severity::warning, "server",
                     s.name + " serves reads only, version " + s.version +
                         ": it has lost its ensemble, and is of no use for locks until it has "
                         "found it again"});
      continue;
    }
    if (s.has_local_sessions) {
      all.push_back({severity::warning, "server",
                     s.name + " has sessions that its ensemble does not know of "
                              "(localSessionsEnabled): two may hold one lock when it is cut off; "
                              "see docs/zookeeper.md"});
    }
    all.push_back(
        {severity::good, "server", s.name + " serves, version " + s.version + ", " + s.mode});
  }
  if (alone) {
    all.push_back({severity::warning, "ensemble",
                   "a server that stands alone: while it is down nobody gets a lock, and what its "
                   "disk loses is lost"});
  } else if (seen.servers.size() == 1 && serving == 1) {
    all.push_back({severity::warning, "ensemble",
                   "the URL names one server; name all of the ensemble, so that another is asked "
                   "when it is gone"});
  }
}

}  // namespace

result<std::vector<finding>> diagnose(const std::shared_ptr<ensemble>& e) {
  const auto seen = inspect(e);
  findings all;
  judge_servers(seen, all);
  if (!seen.trouble.empty()) {
    all.push_back({severity::fault, "store", "nobody gets a lock: " + seen.trouble});
  }
  if (e->set().user.empty()) {
    all.push_back({severity::warning, "access",
                   "the URL names no user: whoever reaches the servers can end sessions and "
                   "locks; see docs/zookeeper.md"});
  } else if (seen.open_to_all) {
    all.push_back({severity::warning, "access",
                   "nodes of this store were made without a user: whoever reaches the servers can "
                   "end sessions and locks; docs/zookeeper.md, \"Access\", says how they become "
                   "the user's"});
  }
  all.push_back({severity::good, "clocks",
                 "no clock, no session and no ephemeral node of ZooKeeper decides anything: "
                 "sessions end by compare-and-delete, after their ttl by the clocks of holders and "
                 "waiters"});
  return all;
}

failover longest_failover(const std::shared_ptr<ensemble>& e) {
  duration silence{};
  for (const auto& s : look_at_servers(e->set())) {
    if (s.mode == "standalone") return {};  // Nobody takes its place.
    silence = std::max(silence, s.silence);
  }
  const bool told = silence > 0s;
  if (!told) silence = debian_silence;
  return {.silence = silence + election,
          .why = (told ? "the servers notice a lost leader after "
                       : "the servers do not tell their settings, and with Debian's notice a lost "
                         "leader after ") +
                 print_duration(silence) + " (tickTime times syncLimit)"};
}

}  // namespace holdfast::engines::zookeeper
