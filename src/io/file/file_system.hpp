#pragma once

#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::io {

/// The kind of file system a descriptor is on.
struct file_system {
  std::string name;      ///< "ext4", "nfs", ...; "type 0x..." when it is not known.
  bool local{};          ///< One of those whose locks and shared mappings are known to be local.
  std::uint64_t free{};  ///< Bytes that this user may still write.
};

/// By the magic number of statfs(2).
result<file_system> file_system_of(int fd, std::string_view path);

/// `unsupported` for a file or directory on one that is not known to be local, by its name.
result<void> expect_local(int fd, const std::string& path);

}  // namespace holdfast::io
