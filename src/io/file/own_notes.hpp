#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::io {

/// \file
/// What a user's processes note for each other: lines below a head that says whose and of which
/// boot they are. Notes that cannot be trusted are no notes.

/// All of a plain file that belongs to this user and that nobody else may write: somebody else's
/// notes could make a wait too short. Empty when there is none, or more than `bytes_max` of it.
/// `path` is below `directory` unless it is absolute, as for openat(2).
std::string own_text(int directory, const std::string& path, std::size_t bytes_max);

/// The whole lines below `head`; empty when the text has another one, or `head` is empty. What was
/// cut off in its middle is left out: a part of a number would be an earlier time.
std::string_view lines_below(std::string_view head, std::string_view text) noexcept;

}  // namespace holdfast::io
