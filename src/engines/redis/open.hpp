#pragma once

#include "engines/opened_store.hpp"

namespace holdfast::engines::redis {

/// Opens the store that `url` names and begins to connect; see docs/redis.md for its form and query
/// keys. Whether the server answers shows when it is used.
result<opened_store> open_redis(const core::store_url& url, missing what = missing::create);

/// Whether that store is there: always, for it is made by its server; see store::find.
result<presence> find_redis(const core::store_url& url);

}  // namespace holdfast::engines::redis
