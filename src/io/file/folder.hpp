#pragma once

#include "io/file/files.hpp"

#include <holdfast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::io {

/// What a system call answered: its own result, or errno.
struct answer {
  std::int64_t value{-1};
  int code{};  ///< errno; zero when it succeeded.
  explicit operator bool() const noexcept { return code == 0; }
};

/// An open file of a folder; closed when it is destroyed. One call here is one system call there,
/// short counts and EINTR included: nothing is repeated behind the caller's back.
///
/// Thread safety: as the system calls: every function, from any thread.
class folder_file {
 public:
  virtual ~folder_file() = default;

  virtual answer read(std::span<std::byte> into, std::uint64_t offset) = 0;         // pread(2)
  virtual answer write(std::span<const std::byte> from, std::uint64_t offset) = 0;  // pwrite(2)
  virtual answer sync() = 0;  // fdatasync(2), mapped pages included.
  virtual answer truncate(std::uint64_t size) = 0;
  /// Real blocks for these bytes, without a change of the file's size: a full disk is noticed at
  /// this moment (fallocate(2) with FALLOC_FL_KEEP_SIZE).
  virtual answer reserve(std::uint64_t offset, std::uint64_t size) = 0;
  virtual answer size() = 0;
  /// The first `size` bytes, shared with every process that maps them, for as long as this object
  /// lives; writable when the file was opened for that. nullptr: errno is in `code`.
  virtual std::byte* map(std::size_t size, int& code) = 0;
};

/// How a file is opened.
enum class opening : std::uint8_t {
  read,    ///< It has to be there.
  write,   ///< For reading and writing; it has to be there.
  create,  ///< For reading and writing; EEXIST when it is there.
};

/// One directory and the system calls on its files, so that a test can put a disk in its place that
/// fills up, fails, and forgets at a power loss what was not synced. Names have no slash.
///
/// Thread safety: every function, from any thread.
class folder {
 public:
  virtual ~folder() = default;

  /// Nothing when it failed; `code` has errno. A symbolic link is refused with ELOOP, and what is
  /// not a plain file with EINVAL.
  virtual std::unique_ptr<folder_file> open(const std::string& name, opening how, int& code) = 0;
  virtual answer link(const std::string& from, const std::string& to) = 0;  // EEXIST: is there.
  /// Replaces `to`: not for what two processes may write at a time.
  virtual answer rename(const std::string& from, const std::string& to) = 0;
  virtual answer unlink(const std::string& name) = 0;
  /// fsync(2) of the directory: its names are on the disk.
  virtual answer sync() = 0;
  /// fsync(2) of the directory above: this directory's own name is on the disk.
  virtual answer sync_above() = 0;
  virtual answer list(std::vector<std::string>& names) = 0;

  /// For messages.
  const std::string& path() const noexcept { return path_; }
  std::string at(std::string_view name) const { return path_in(path_, name); }

 protected:
  explicit folder(std::string path) : path_(std::move(path)) {}

 private:
  std::string path_;
};

/// Whether a directory may be made.
enum class absent : std::uint8_t { refuse, create };

/// A real directory. Files that are created in it get the directory's own permissions, without the
/// right to execute and that of all users to write, and are overwritten in place. Errors:
/// `unavailable`; `unsupported` on a file system that is not known to be local, with coherent
/// shared mappings, links and syncs (io/file/file_system.hpp), by its name.
result<std::unique_ptr<folder>> open_folder(const std::string& path, absent what);

/// Reads until `into` is full or the file ends; how many bytes. `path` is for the message.
result<std::size_t> read_fully(folder_file& file, std::span<std::byte> into, std::uint64_t offset,
                               std::string_view path);
/// Writes all of it, also after short counts. After a failure any part may have been written.
result<void> write_fully(folder_file& file, std::span<const std::byte> from, std::uint64_t offset,
                         std::string_view path);
/// Asks again when a signal has interrupted it.
answer reserve_fully(folder_file& file, std::uint64_t offset, std::uint64_t size);

}  // namespace holdfast::io
