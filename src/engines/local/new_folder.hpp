#pragma once

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <optional>
#include <string>

namespace holdfast::engines::local {

/// Makes the folder of a store where nothing is, for us alone or for a group; what is there is left
/// as it is. Nobody finds a group's folder before it is the group's, also when this is killed.
/// Errors: `unavailable` with what to do.
result<void> make_folder(const std::string& path, std::optional<gid_t> group);

}  // namespace holdfast::engines::local
