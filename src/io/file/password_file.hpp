#pragma once

#include "core/store_url.hpp"

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::io {

/// The URL's password: its own, or what is in its `password_file`, at most 4096 bytes, without the
/// last line ends. Empty: none. Symbolic links are followed.
/// Errors: `invalid_argument`.
result<std::string> password_of(const core::store_url& url);

/// For another login while the program runs, since a secret may be replaced: what is in `file` now.
/// `last` when `file` is empty, or cannot be used now.
std::string password_again(const std::string& file, const std::string& last);

}  // namespace holdfast::io
