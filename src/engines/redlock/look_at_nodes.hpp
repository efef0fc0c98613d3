#pragma once

#include "core/redlock/node_record.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/settings.hpp"
#include "io/redis/redis_facts.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::engines::redlock {

// What an operator's look at the nodes needs, whatever it is for. The first two block, so not on a
// thread of the library.

/// Waits until every node is settled (cluster::readiness), for some node timeouts at most.
void wait_ready(const std::shared_ptr<cluster>& c);

/// What a node's clock showed at some moment between the question and its answer.
struct node_time {
  core::redlock::server_time at{};  ///< Zero of one that did not answer.
  wall_time sent{};                 ///< On this host's clock, as the next one.
  wall_time received{};
};

/// Every node's TIME.
std::vector<node_time> times_of(const std::shared_ptr<cluster>& c);

/// How far a node's clock is from this host's, for people, and within which bounds.
std::string offset_text(const node_time& t);

/// The same for programs: the difference as it was measured, and how much of it the time of the
/// question and its answer may explain. Nothing of a node that did not answer.
std::vector<figure> offset_figures(const node_time& t);

/// A line of the server's INFO; empty when it has none.
std::string text_of(const io::redis_facts& server, const char* key);

/// Why the server may drop keys that have not ended; empty when it does not.
std::string unsafe_setting(const io::redis_facts& server);

}  // namespace holdfast::engines::redlock
