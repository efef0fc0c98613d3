#pragma once

#include "io/net/node_address.hpp"

#include <string>
#include <vector>

namespace holdfast::engines::redlock {

/// Of the nodes, in any order, and the database: equal for equal lists. It finds mistakes; nobody
/// gains by a collision.
std::string hash_of_list(const std::vector<io::node_address>& nodes, unsigned database);

/// How the list with this hash differs from the one that is given, as a clause: "which lacks a:1".
/// A hash does not tell, so that what people mostly change is tried: one or two nodes that were
/// added here, localhost and its address. Empty when it is none of these.
std::string difference_of_list(const std::string& hash, const std::vector<io::node_address>& nodes,
                               unsigned database);

}  // namespace holdfast::engines::redlock
