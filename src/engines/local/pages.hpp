#pragma once

#include <holdfast/error.hpp>

#include <cstdint>
#include <string>

namespace holdfast::engines::local {

/// Why LMDB must not open this file; empty when it may.
///
/// LMDB maps the file and trusts every offset and page number in it, so that one wrong byte can end
/// the process with SIGBUS or SIGSEGV. This follows the two trees of the newest commit and the list
/// of free pages: each page is there, is of its kind, is used once, and what it points to lies
/// inside it or inside the file. What the records say is the codec's to judge.
///
/// One read of each page in use, under the store's gate. The file has `size` bytes and may grow to
/// `most`. Fails when the file cannot be read.
result<std::string> damage_of_pages(int fd, std::uint64_t size, std::uint64_t most,
                                    const std::string& path);

}  // namespace holdfast::engines::local
