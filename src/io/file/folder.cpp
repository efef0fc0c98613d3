#include "io/file/folder.hpp"

#include "io/file/files.hpp"

#include <cerrno>

namespace holdfast::io {

result<std::size_t> read_fully(folder_file& file, std::span<std::byte> into, std::uint64_t offset,
                               std::string_view path) {
  std::size_t done = 0;
  while (done < into.size()) {
    const answer got = file.read(into.subspan(done), offset + done);
    if (got.code == EINTR) continue;
    if (!got) return file_failure("read", path, got.code);
    if (got.value == 0) break;
    done += static_cast<std::size_t>(got.value);
  }
  return done;
}

result<void> write_fully(folder_file& file, std::span<const std::byte> from, std::uint64_t offset,
                         std::string_view path) {
  while (!from.empty()) {
    const answer put = file.write(from, offset);
    if (put.code == EINTR) continue;
    if (!put) return file_failure("write", path, put.code);
    // pwrite(2) of one byte or more never answers zero; a disk that does must not keep us here.
    if (put.value <= 0) return file_failure("write", path, EIO);
    from = from.subspan(static_cast<std::size_t>(put.value));
    offset += static_cast<std::uint64_t>(put.value);
  }
  return {};
}

answer reserve_fully(folder_file& file, std::uint64_t offset, std::uint64_t size) {
  answer got = file.reserve(offset, size);
  while (got.code == EINTR) got = file.reserve(offset, size);
  return got;
}

}  // namespace holdfast::io
