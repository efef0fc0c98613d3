#pragma once

#include "engines/local/environment.hpp"

#include <holdfast/store.hpp>

#include <vector>

namespace holdfast::engines::local {

/// Looks at everything of an open store that an operator can put right. Changes nothing.
result<std::vector<finding>> diagnose(environment& store);

}  // namespace holdfast::engines::local
