#pragma once

#include "core/engine.hpp"

#include <holdfast/error.hpp>

namespace holdfast::core {

/// The public code of an engine's answer that is no success; `ok` has none.
errc errc_of(status s) noexcept;

}  // namespace holdfast::core
