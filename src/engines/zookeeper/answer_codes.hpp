#pragma once

#include "engines/zookeeper/settings.hpp"
#include "io/zookeeper/zookeeper_connection.hpp"

#include <string>

namespace holdfast::engines::zookeeper {

// What the code of an answer says about its request.

/// The server said what it thinks of the nodes.
bool is_answer(io::zoo_code c) noexcept;
/// Certainly nothing was done, and nothing will be.
bool is_refusal(io::zoo_code c) noexcept;
/// Worth another try, for nothing is wrong with the request.
bool passes(io::zoo_code c) noexcept;
/// "ZooKeeper: bad version (-103)", for a code that says nothing about a node.
std::string refusal_text(io::zoo_code code, const settings& set);

}  // namespace holdfast::engines::zookeeper
