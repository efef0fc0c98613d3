#pragma once

#include "io/file/unique_fd.hpp"

#include <holdfast/error.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::io {

/// \file
/// Files and directories opened with care: relative to a directory descriptor, no symbolic link
/// followed in the last step, close-on-exec. Failures are `unavailable` with the path and the
/// reason unless said otherwise.

/// What helps who may not write; empty when that is not what `code` says.
std::string_view advice_about_rights(int code) noexcept;

/// "cannot DID PATH: REASON; ADVICE". For a limit of the process or the machine the advice is what
/// raises that.
error file_failure(std::string_view did, std::string_view path, int code,
                   std::string_view advice = {});

/// What a file is, as far as a store cares.
struct file_facts {
  std::uint64_t device{};
  std::uint64_t inode{};
  std::uint64_t size{};
  uid_t owner{};
  gid_t group{};
  mode_t mode{};  ///< Permission bits.
  bool regular{};
};
result<file_facts> facts_of(int fd, std::string_view path);

/// Creates a directory. Its owner has all rights of `mode` in it, whatever the umask is: without
/// them no process of that user could ever use it. Returns the errno; zero: done.
int make_directory(const std::string& path, mode_t mode) noexcept;
/// The mode of a directory of this user; a symbolic link is not followed. Returns the errno; zero:
/// done.
int set_directory_mode(int directory, const char* name, mode_t mode) noexcept;
/// Creates a directory with its parents; those that exist are left as they are.
result<void> make_directories(const std::string& path, mode_t mode);
/// A directory descriptor; a symbolic link in the last step is refused.
result<unique_fd> open_directory(const std::string& path);
/// Its absolute path as the kernel knows it.
result<std::string> path_of(int fd);
/// The names in it, without "." and "..", sorted.
result<std::vector<std::string>> names_in(int directory, std::string_view path);
/// The same, added to `names`: 0, or the errno of what failed.
int add_names_in(int directory, std::vector<std::string>& names);

/// Of what is in a directory, for messages.
inline std::string path_in(const std::string& directory, std::string_view name) {
  return (directory == "/" ? std::string() : directory) + "/" + std::string(name);
}

/// A directory and its path, for messages.
struct place {
  int directory{-1};
  std::string path;
  std::string at(std::string_view name) const { return path_in(path, name); }
};

/// An existing regular file for reading and writing; nothing when there is none. Another kind of
/// file, or a link, is refused.
result<std::optional<unique_fd>> open_existing(const place& where, const char* name);
/// Opens or creates; a created one has exactly `mode`, whatever the umask. So has one of ours that
/// was left as it is made at first, with 0600: its maker was killed before it could give it to
/// others.
result<unique_fd> open_or_create(const place& where, const char* name, mode_t mode);
/// The same for a file that is mapped or overwritten in place.
result<unique_fd> open_or_create_in_place(const place& where, const char* name, mode_t mode);
/// Has a new file, while it is empty, overwritten where it lies; to be called for every file that
/// is mapped for writing, or written again within what was reserved. btrfs writes each block that
/// has been on the disk to a new place, which a full disk does not have, whatever was reserved: a
/// store into a mapped page is then SIGBUS. For such a file it keeps no checksums. A snapshot or a
/// reflink of it has each block written elsewhere once more, and mapped pages need Linux 6.17 (its
/// commit 6599716de2d6). Other file systems overwrite anyway; what cannot be set is left.
void overwrite_in_place(int fd) noexcept;

/// A small text file, which need not be writable; nothing when there is none. More than `limit`
/// bytes is `damaged`.
result<std::optional<std::string>> read_text(const place& where, const char* name,
                                             std::size_t limit);
/// Writes a file in one step: the old content or the new one, also after a crash; synced.
result<void> replace_text(const place& where, const char* name, std::string_view text, mode_t mode);

result<std::size_t> read_at(int fd, std::span<std::byte> into, std::uint64_t offset,
                            std::string_view path);
result<void> write_at(int fd, std::span<const std::byte> from, std::uint64_t offset,
                      std::string_view path);
/// fdatasync(2).
result<void> sync_data(int fd, std::string_view path);
/// Gives the file real blocks for `size` bytes, so that a full disk is noticed at this moment and
/// not as SIGBUS on a mapped page; on btrfs as far as overwrite_in_place() goes.
result<void> reserve(int fd, std::uint64_t size, std::string_view path);

/// A file mapped for reading and writing, shared with every process that maps it.
class shared_memory {
 public:
  static result<shared_memory> map(int fd, std::size_t size, std::string_view path);
  shared_memory() = default;
  shared_memory(shared_memory&& other) noexcept;
  shared_memory& operator=(shared_memory&& other) noexcept;
  ~shared_memory();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_{};
  std::size_t size_{};
};

}  // namespace holdfast::io
