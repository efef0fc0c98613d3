#pragma once

#include "engines/redis/master.hpp"

#include <holdfast/error.hpp>
#include <holdfast/store.hpp>

#include <string>
#include <vector>

namespace holdfast::engines::redis {

/// The engine's part of store::diagnose(): what an operator should know or change. Waits for the
/// server, as long as an operation would.
result<std::vector<finding>> diagnose(master& m);

}  // namespace holdfast::engines::redis
