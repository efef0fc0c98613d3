#include "engines/redis/diagnose.hpp"

#include <holdfast/duration.hpp>

#include <string>
#include <utility>

namespace holdfast::engines::redis {

namespace {

std::string info_of(const master::picture& p, const char* key) {
  const auto found = p.server->info.find(key);
  return found == p.server->info.end() ? std::string() : found->second;
}

finding about_persistence(const master::picture& p) {
  if (p.durable) {
    return {severity::good, "persistence",
            "every write is synced before it is answered: locks survive a restart"};
  }
  if (!p.reload_objection.empty()) {
    return {severity::warning, "persistence",
            "every write is synced, but " + p.reload_objection +
                ". Until then nothing is granted for " + print_duration(p.max_ttl) +
                " and a margin after a restart"};
  }
  return {severity::warning, "persistence",
          "not every write is synced (appendonly yes, appendfsync always), or a replica that may "
          "have fewer can take over: after a restart all "
          "locks are lost and nothing is granted for " +
              print_duration(p.max_ttl) + " and a margin"};
}

finding about_eviction(const master::picture& p) {
  const std::string policy = info_of(p, "maxmemory_policy");
  const std::string most = info_of(p, "maxmemory");
  // No key of a store has a ttl, so what evicts only keys with one takes none of them.
  if (policy == "noeviction" || most == "0" || policy.starts_with("volatile-")) {
    return {severity::good, "eviction", "no key without a ttl is evicted (" + policy + ")"};
  }
  return {severity::fault, "eviction",
          "maxmemory-policy is " + policy + ": the server may drop a held lock; set noeviction"};
}

finding replicas_judged(const master& m, const master::picture& p) {
  if (p.replicas == 0) return {severity::good, "replicas", "none: there is no failover to forget"};
  const std::string count = std::to_string(p.replicas);
  switch (m.set().with_replicas) {
    case settings::replication::awaited:
      return {severity::good, "replicas",
              count + " attached; every write waits for " + std::to_string(m.set().replicas)};
    case settings::replication::refused:
      return {severity::fault, "replicas",
              count +
                  " attached, and the URL does not say how to use them (replicas=): nobody "
                  "gets a lock"};
    case settings::replication::ignored:
      break;
  }
  return {severity::warning, "replicas",
          count +
              " attached and not waited for (replicas=ignore): a failover forgets locks; a "
              "promoted replica grants nothing for max_ttl, as after a restart"};
}

finding about_replicas(const master& m, const master::picture& p) {
  finding f = replicas_judged(m, p);
  f.figures = {{"replicas", static_cast<double>(p.replicas)}};
  return f;
}

}  // namespace

result<std::vector<finding>> diagnose(master& m) {
  const auto p = m.look();
  std::vector<finding> all;
  const std::string node = "redis node " + m.set().node.text();
  if (!p.trouble.empty()) {
    all.push_back({severity::fault, "server", p.trouble});
  } else {
    all.push_back({severity::good,
                   "server",
                   node + ": Redis " + p.server->version + ", grants locks; max_ttl " +
                       print_duration(p.max_ttl),
                   {{"max_ttl_s", std::chrono::duration<double>(p.max_ttl).count()}}});
  }
  if (!p.server) return all;
  all.push_back(about_persistence(p));
  all.push_back(about_eviction(p));
  all.push_back(about_replicas(m, p));
  if (m.set().assume_fresh) {
    all.push_back({severity::warning, "assume_fresh",
                   "the URL has assume_fresh=yes: a server that restarted empty grants locks that "
                   "are still held; use it for the first start only"});
  }
  return all;
}

}  // namespace holdfast::engines::redis
