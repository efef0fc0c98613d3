#pragma once

#include "core/store_url.hpp"

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::io {

/// The URL's password: its own, or what is in its `password_file`, at most 4096 bytes, without the
/// last line ends. Empty: none. Symbolic links are followed.
/// Errors: `invalid_argument`.
result<std::string> password_of(const core::store_url& url);

}  // namespace holdfast::io
