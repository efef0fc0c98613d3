#pragma once

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::io {

/// Where the embedded engine's store is unless the URL says: `/var/lib/holdfast` for root, else
/// `$XDG_STATE_HOME/holdfast` or `~/.local/state/holdfast`.
/// Errors: `invalid_argument` when there is no home directory to be found.
result<std::string> default_store_directory();

/// Where this user's notes about stores are kept; outside every store, for it is private.
/// `$XDG_STATE_HOME/holdfast-state`, else `/var/lib/holdfast-state` for root, else
/// `~/.local/state/holdfast-state`.
result<std::string> notes_directory();

}  // namespace holdfast::io
