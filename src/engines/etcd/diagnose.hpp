#pragma once

#include "engines/etcd/cluster.hpp"
#include "engines/opened_store.hpp"

#include <holdfast/store.hpp>

#include <memory>
#include <vector>

namespace holdfast::engines::etcd {

/// What `holdfast doctor` says of the cluster. Waits at most a few node timeouts.
result<std::vector<finding>> diagnose(const std::shared_ptr<cluster>& c);

/// How long a cluster is silent whose leader is lost. Waits at most a few node timeouts.
failover longest_failover(const std::shared_ptr<cluster>& c);

}  // namespace holdfast::engines::etcd
