#pragma once

#include <holdfast/export.hpp>

/// The version of the headers, for the preprocessor: 0.1.0 is 000100.
#define HOLDFAST_VERSION 100

namespace holdfast {

/// The version of the library that the program is linked with: "0.1.0".
HOLDFAST_EXPORT const char* version() noexcept;

}  // namespace holdfast
