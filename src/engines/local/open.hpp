#pragma once

#include "engines/opened_store.hpp"

namespace holdfast::engines::local {

/// Opens the store that `url` names; see docs/stores.md for its form and query keys.
result<opened_store> open_local(const core::store_url& url, missing what = missing::create);

/// Whether that store is there; see store::find.
result<presence> find_local(const core::store_url& url);

}  // namespace holdfast::engines::local
