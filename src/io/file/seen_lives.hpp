#pragma once

#include "core/redlock/life_notes.hpp"

#include <string>

namespace holdfast::io {

/// \file
/// What this process saw of the lives of each store's nodes, for the clients that it makes later.
/// A program that opens its store again and again waits out a node's minute once, also where its
/// user can keep no notes.
///
/// Thread safety: every function, from any thread.

/// `notes`: the file of the user's notes of that store, as life_notes_file names it.
void remember_lives(const std::string& notes, const core::redlock::life_notes& seen);
core::redlock::life_notes lives_seen(const std::string& notes);

}  // namespace holdfast::io
