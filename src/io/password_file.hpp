#pragma once

#include "core/store_url.hpp"

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::io {

/// The URL's password: its own, or the first 4096 bytes of its `password_file` without the last
/// line ends. Empty: none.
/// Errors: `invalid_argument`.
result<std::string> password_of(const core::store_url& url);

}  // namespace holdfast::io
