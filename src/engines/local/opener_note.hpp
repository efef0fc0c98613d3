#pragma once

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::engines::local {

/// Who is in setup, as the text of a store's lock file: the kernel does not tell whose an open file
/// description lock is.

/// Writes that it is this process. Best effort: a disk may be full.
void leave_note(int lock_file);
std::string read_note(int lock_file);

/// The error of who waited in vain to get into setup of the store at `path`: whom to look for, as
/// the note says that was there from the beginning of the wait (`first`) to its end (`last`).
error kept_out(const std::string& first, const std::string& last, const std::string& path);

}  // namespace holdfast::engines::local
