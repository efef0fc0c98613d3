#pragma once

#include "core/store_url.hpp"
#include "engines/opened_store.hpp"

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::client {

/// Whether a URL may begin with it. Errors: `invalid_argument`, `unsupported`, as open_engine().
result<void> check_scheme(const std::string& scheme);

/// Opens the engine that the URL's scheme names; `ttl` and `max_ttl` were checked by the caller.
/// Errors: `invalid_argument` for an unknown scheme, `unsupported` for a known one that was not
/// built in, and the engine's own.
result<engines::opened_store> open_engine(const core::store_url& url, missing what);

/// The same for store::find.
result<presence> find_store(const core::store_url& url);

}  // namespace holdfast::client
