#pragma once

#include "engines/local/environment.hpp"
#include "engines/local/tables.hpp"

#include <cstddef>

namespace holdfast::engines::local {

/// Deletes entries of missing sessions among the next `most`. Where to go on is kept in the store,
/// because most processes are short.
swept sweep_on(transaction& txn, std::size_t most);

/// Goes on while there are entries of missing sessions among the next, in writes of their own, some
/// tens of milliseconds at most: a session may leave any number of them, and a store whose sessions
/// end so would grow for ever by a fixed number for each.
void sweep_rest(environment& store);

/// Deletes sessions of dead processes and entries of missing sessions, as many as go in some tens
/// of milliseconds.
void make_room(environment& store);

}  // namespace holdfast::engines::local
