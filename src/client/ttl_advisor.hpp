#pragma once

#include "client/store_core.hpp"
#include "core/ttl_advice.hpp"

#include <holdfast/store.hpp>

#include <memory>
#include <optional>

namespace holdfast::client {

/// Measures heartbeats in a session of its own, and says which ttl they allow and how long others
/// wait for a lock whose holder is gone. `intended` is what somebody means to use, who stops
/// `early`.
result<finding> advise_ttl(const std::shared_ptr<store_core>& store,
                           std::optional<duration> intended, const core::early_stop& early);

}  // namespace holdfast::client
