#pragma once

#include "engines/opened.hpp"

namespace holdfast::engines::local {

/// Opens the store that `url` names; see docs/stores.md for its form and query keys.
result<opened> open_local(const core::store_url& url);

}  // namespace holdfast::engines::local
