#pragma once

#include <holdfast/error.hpp>

#include <string>
#include <utility>

namespace holdfast::core {

/// What the caller asked for cannot be done, however often; the text says what to correct.
inline error invalid(std::string text) { return {errc::invalid_argument, std::move(text)}; }

}  // namespace holdfast::core
