#include "engines/etcd/diagnose.hpp"

#include "engines/etcd/inspection.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace holdfast::engines::etcd {

namespace {

using findings = std::vector<finding>;

constexpr std::int64_t much_history = 100'000;
constexpr std::int64_t quota_default = std::int64_t{2} * 1024 * 1024 * 1024;

std::string mebibytes(std::int64_t size) { return std::to_string(size / (1024 * 1024)) + " MiB"; }

void look_at_servers(const inspection& seen, findings& all) {
  std::size_t ready = 0;
  for (const auto& m : seen.members) {
    if (m.has_no_leader()) {
      all.push_back({severity::warning, "server",
                     m.name + " has no leader: it is cut off from its cluster, or most of the "
                              "cluster is gone"});
      continue;
    }
    if (m.foreign) {
      all.push_back({severity::fault, "server", m.trouble});
      continue;
    }
    ready += m.ready ? 1 : 0;
    all.push_back({m.ready ? severity::good : severity::warning, "server",
                   m.ready ? m.name + " answers, version " + m.version : m.trouble});
    for (const auto& e : m.errors) {
      all.push_back({severity::fault, "server", m.name + " says: " + e});
    }
  }
  if (ready == 0) {
    all.push_back(
        {severity::fault, "cluster", "no server answers for the cluster; nobody gets a lock"});
  } else if (seen.members.size() == 1) {
    all.push_back({severity::warning, "cluster",
                   "the URL names one server; name all of the cluster, so that another is asked "
                   "when it is gone"});
  }
}

void look_at_versions(const inspection& seen, findings& all) {
  // The stale-leader faults of leases (etcd issues 12528 and 15247), fixed in 3.4.31.
  const bool old = std::ranges::any_of(seen.members, [](const auto& m) {
    int patch = 0;
    const std::string_view v = m.version;
    if (!v.starts_with("3.4.")) return false;
    return std::from_chars(v.data() + 4, v.data() + v.size(), patch).ec == std::errc() &&
           patch < 31;
  });
  if (!old) return;
  all.push_back({severity::warning, "version",
                 "etcd before 3.4.31 acknowledges leases that have ended, and its own locks are "
                 "not safe; holdfast uses neither, other programs on this cluster may"});
}

void look_at_history(const inspection& seen, findings& all) {
  if (seen.whole_history && seen.revision > much_history) {
    all.push_back({severity::warning, "compaction",
                   std::to_string(seen.revision) +
                       " revisions and none was ever compacted: heartbeats fill the disk until "
                       "etcd refuses every lock; start it with --auto-compaction-mode=periodic "
                       "--auto-compaction-retention=5m"});
  } else if (!seen.whole_history) {
    all.push_back({severity::good, "compaction", "the history has been compacted"});
  } else {
    all.push_back({severity::good, "compaction",
                   "nothing was compacted yet, of " + std::to_string(seen.revision) +
                       " revisions; make sure that auto-compaction is configured"});
  }
  for (const auto& m : seen.members) {
    if (m.database_bytes > quota_default / 2) {
      all.push_back({severity::warning,
                     "database",
                     m.name + " keeps " + mebibytes(m.database_bytes) + ", of which " +
                         mebibytes(m.database_bytes_used) +
                         " are in use; at its quota (2 GiB unless configured) it takes no writes: "
                         "etcdctl defrag",
                     {{"database_bytes", static_cast<double>(m.database_bytes)},
                      {"database_used_bytes", static_cast<double>(m.database_bytes_used)}}});
    }
  }
}

// etcd gives no lease shorter than one and a half election timeouts, in whole seconds; it does not
// tell the timeout itself. Upwards: it is a bound, from which the smallest ttl follows.
duration election_timeout(const inspection& seen) {
  return std::chrono::milliseconds((seen.lease_min * 2000 + 2) / 3);
}

void look_at_election(const inspection& seen, findings& all) {
  if (seen.lease_min <= 0) return;
  all.push_back(
      {severity::good,
       "election",
       "the election timeout is at most " + print_duration(election_timeout(seen)) +
           ": a failover takes up to twice that",
       {{"election_timeout_s", std::chrono::duration<double>(election_timeout(seen)).count()}}});
}

}  // namespace

failover longest_failover(const std::shared_ptr<cluster>& c) {
  const auto seen = inspect(c);
  if (seen.lease_min <= 0) return {};
  const duration election = election_timeout(seen);
  const duration one = c->set().node_timeout;
  return {.silence = 2 * election + one,
          .why = "two election timeouts of at most " + print_duration(election) +
                 ", and a node_timeout of " + print_duration(one) + " to leave a dead server"};
}

result<std::vector<finding>> diagnose(const std::shared_ptr<cluster>& c) {
  const auto seen = inspect(c);
  findings all;
  look_at_servers(seen, all);
  look_at_versions(seen, all);
  if (seen.revision > 0) look_at_history(seen, all);
  look_at_election(seen, all);
  all.push_back({severity::good, "clocks",
                 "no clock and no lease of etcd decides anything: sessions end by compare-and-"
                 "delete, after their ttl by the clocks of holders and waiters"});
  return all;
}

}  // namespace holdfast::engines::etcd
