#pragma once

#include "fence/log_directory.hpp"

namespace holdfast::fencing {

/// A real directory on this machine, in this boot.
result<log_ground> real_ground(const std::string& directory, io::absent what);

}  // namespace holdfast::fencing
