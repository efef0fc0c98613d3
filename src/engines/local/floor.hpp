#pragma once

#include "io/file/files.hpp"

#include <holdfast/error.hpp>

#include <cstdint>
#include <string>

namespace holdfast::engines::local {

/// How high tokens may go before the file has to be written again: the one thing of a store that
/// has to survive a power loss.
///
/// Two slots in sectors of their own, each {magic, number, ceiling, checksum}; the higher valid
/// ceiling counts. The slot that is known to be on the disk is never the next to be written, so
/// that a torn write leaves its ceiling. Raised in blocks, and synced before the first token of a
/// block is given.
///
/// Thread safety: none; used under the store's gate.
class token_floor {
 public:
  /// Tokens per block: about 10 seconds of the fastest acquires there can be, and one sync each.
  static constexpr std::uint64_t block = std::uint64_t{1} << 20;

  static result<token_floor> open(const io::place& where, mode_t mode);

  /// The surviving ceiling; zero when the file is new, lost or corrupt.
  result<std::uint64_t> ceiling() const;
  /// The same, and it is on the disk: to be asked before the first raise of a boot.
  result<std::uint64_t> synced_ceiling() const;
  /// Raises the ceiling to cover `needed` and syncs it; the new ceiling. `synced`: the one that is
  /// known to be on the disk, which stays valid whatever fails.
  result<std::uint64_t> raise(std::uint64_t needed, std::uint64_t synced);

 private:
  struct slots;
  token_floor(io::unique_fd file, std::string path) noexcept
      : file_(std::move(file)), path_(std::move(path)) {}
  result<slots> read() const;

  io::unique_fd file_;
  std::string path_;
};

}  // namespace holdfast::engines::local
