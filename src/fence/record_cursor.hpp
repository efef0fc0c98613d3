#pragma once

#include "fence/log_mark.hpp"
#include "io/file/folder.hpp"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::fencing {

/// Walks over the records of one segment.
class record_cursor {
 public:
  enum class step : std::uint8_t {
    record,  ///< payload() is the next one.
    end,     ///< Exactly at the limit, or at the end of the file.
    torn     ///< What is left up to there is no whole record.
  };

  /// `first` is the number of the segment's first record.
  record_cursor(std::shared_ptr<io::folder_file> file, std::string path, const segment_id& id,
                std::uint64_t first, const segment_place& at = {})
      : file_(std::move(file)), path_(std::move(path)), id_(id), first_(first), at_(at) {}

  /// Looks at what stands here, no further than `limit` bytes from the segment's begin. It does
  /// not go on before pass().
  result<step> look(std::uint64_t limit);
  std::span<const std::byte> payload() const noexcept { return found_.payload; }
  /// Behind the record that look() found.
  segment_place behind() const noexcept { return {at_.bytes + found_.bytes, at_.records + 1}; }
  void pass() noexcept { at_ = behind(); }

  const segment_place& at() const noexcept { return at_; }
  std::uint64_t number() const noexcept { return first_ + at_.records; }
  const segment_id& id() const noexcept { return id_; }
  const std::string& path() const noexcept { return path_; }

 private:
  result<bool> fill(std::size_t needed, std::uint64_t limit);

  std::shared_ptr<io::folder_file> file_;
  std::string path_;
  segment_id id_;
  std::uint64_t first_;
  segment_place at_;
  record_there found_;
  std::vector<std::byte> window_;
  std::uint64_t window_at_{};
  std::size_t window_size_{};
};

}  // namespace holdfast::fencing
