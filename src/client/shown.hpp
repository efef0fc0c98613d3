#pragma once

#include "core/engine.hpp"
#include "engines/opened_store.hpp"

#include <holdfast/snapshot.hpp>

namespace holdfast::client {

/// A stored session in the form that is shown to people; its life unknown, its locks not counted.
session_info shown(const core::session_record& r, const engines::opened_store& store);

/// A whole listing, with each session's life looked at and its entries counted.
snapshot shown(const core::listing& l, const engines::opened_store& store);

}  // namespace holdfast::client
