#pragma once

#include "engines/opened_store.hpp"

namespace holdfast::engines::zookeeper {

/// Opens the store that `url` names and begins to connect; see docs/zookeeper.md for its form and
/// query keys. Whether its servers answer shows when it is used.
result<opened_store> open_zookeeper(const core::store_url& url, missing what = missing::create);

/// Whether that store is there: always, for it is made by its servers; see store::find.
result<presence> find_zookeeper(const core::store_url& url);

}  // namespace holdfast::engines::zookeeper
