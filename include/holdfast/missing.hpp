#pragma once

#include <holdfast/export.hpp>

#include <cstdint>

namespace holdfast {

/// What opening does when the store, or the fence, does not exist. A store within one process
/// (`memory:`) always exists.
enum class missing : std::uint8_t {
  create,  ///< Makes it.
  refuse,  ///< Reports `unavailable` and makes nothing: for readers, to find a mistyped path.
};

}  // namespace holdfast
