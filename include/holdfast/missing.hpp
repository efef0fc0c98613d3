#pragma once

#include <holdfast/export.hpp>

#include <cstdint>

namespace holdfast {

/// What opening does about a store, or a fence, that is not there. A store that lives in one
/// process alone (`memory:`) is never missing.
enum class missing : std::uint8_t {
  create,  ///< It is made.
  refuse,  ///< `unavailable`; nothing is made. For whoever only looks: it shows a mistyped path.
};

}  // namespace holdfast
