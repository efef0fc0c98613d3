#pragma once

#include "engines/local/environment.hpp"

#include <cstddef>

namespace holdfast::engines::local {

/// Deletes entries of missing sessions among the next `most`; true when these were the last. Where
/// to go on is kept in the store, because most processes are short.
bool sweep_on(transaction& txn, std::size_t most);

/// Deletes sessions of dead processes and entries of missing sessions, as many as go in some tens
/// of milliseconds.
void make_room(environment& store);

}  // namespace holdfast::engines::local
