#pragma once

#include "engines/redlock/cluster.hpp"

#include <holdfast/store.hpp>

#include <memory>
#include <vector>

namespace holdfast::engines::redlock {

/// The engine's part of store::diagnose(): what an operator should know or change. Blocks, so not
/// on a thread of the library.
std::vector<finding> diagnose(const std::shared_ptr<cluster>& c);

}  // namespace holdfast::engines::redlock
