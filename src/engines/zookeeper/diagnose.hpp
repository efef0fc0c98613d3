#pragma once

#include "engines/opened_store.hpp"
#include "engines/zookeeper/ensemble.hpp"

#include <holdfast/store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::zookeeper {

/// What `holdfast doctor` says of the ensemble. Waits at most a few node timeouts.
result<std::vector<finding>> diagnose(const std::shared_ptr<ensemble>& e);

/// How long an ensemble is silent whose leader is lost, by what the servers tell of themselves.
/// Waits at most a few node timeouts.
failover longest_failover(const std::shared_ptr<ensemble>& e);

}  // namespace holdfast::engines::zookeeper
