#pragma once

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <string>

namespace holdfast::engines::local {

// The groups of this machine (getgrnam(3)).

/// Errors: `invalid_argument`: there is none; `unavailable`: it could not be looked up.
result<gid_t> group_named(const std::string& name);
/// Its number as text, where nobody knows its name.
std::string name_of_group(gid_t id);
/// Whether this process is in it.
bool is_in_group(gid_t id);

}  // namespace holdfast::engines::local
