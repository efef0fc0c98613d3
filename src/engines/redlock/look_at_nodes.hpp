#pragma once

#include "core/redlock/node_record.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/settings.hpp"
#include "io/redis/redis_facts.hpp"

#include <holdfast/clock.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::redlock {

// What an operator's look at the nodes needs, whatever it is for. The first two block, so not on a
// thread of the library.

/// Waits until every node is settled (cluster::readiness), for some node timeouts at most.
void wait_ready(const std::shared_ptr<cluster>& c);

/// Every node's TIME that answers.
std::vector<core::redlock::server_time> times_of(const std::shared_ptr<cluster>& c);

/// A line of the server's INFO; empty when it has none.
std::string text_of(const io::redis_facts& server, const char* key);

/// Why the server may drop keys that have not ended; empty when it does not.
std::string unsafe_setting(const io::redis_facts& server);

/// What to do about a URL with another max_ttl than the nodes; empty when it has none.
std::string other_max_ttl(const settings& s, duration recorded, const std::string& where);

}  // namespace holdfast::engines::redlock
