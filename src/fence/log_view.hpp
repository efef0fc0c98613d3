#pragma once

#include "fence/log_directory.hpp"
#include "fence/log_mark.hpp"
#include "fence/record_cursor.hpp"

#include <holdfast/log_reader.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace holdfast::fencing {

/// The inside of a log_reader. Its rule: read, fence, check the epoch; if it is a newer one, what
/// was read may lie behind the length that the newer writer fixes, so read that first.
class log_view {
 public:
  static result<std::unique_ptr<log_view>> open(log_ground on, const reader_options& options);

  result<std::optional<log_record>> next();
  result<std::uint64_t> skip();
  std::uint64_t position() const noexcept { return number_ + (returned_ ? 1 : 0); }

 private:
  /// What one look at the log came to; nothing: look once more.
  using outcome = std::optional<result<std::optional<log_record>>>;

  log_view(log_directory log, const reader_options& options)
      : log_(std::move(log)), durability_(options.durability), number_(options.from.value) {}

  result<bool> reload();
  /// `first` is the number of its first record; no record is looked for behind `limit` bytes.
  result<bool> stand_at(const segment_id& id, std::uint64_t first, std::uint64_t limit);
  outcome look_at_sealed(const sealed_segment& s);
  outcome look_at_end();
  outcome look_without_mark();
  outcome look_again_or(const error& missing);
  outcome look_at_open(const segment_id& id);
  result<std::optional<log_record>> nothing_yet(std::uint64_t acknowledged);
  std::uint64_t certain_bytes() const noexcept;
  std::uint64_t durable_bytes() const noexcept;
  /// The record before which the cursor stands; it stays there until the next call.
  result<std::optional<log_record>> found();
  error broken_here() const;

  log_directory log_;
  survives durability_;
  std::uint64_t number_;        ///< Of the record that is looked for, or was returned last.
  bool returned_{};             ///< The cursor still stands before the record that was returned.
  bool skippable_{};            ///< The last look failed at something that skip() can leave out.
  std::optional<error> stuck_;  ///< Of the last look, when nobody knows what follows.
  log_inline version_;
  std::optional<error> fault_;  ///< Of inline versions newer than that one.
  std::optional<record_cursor> cursor_;
  log_mark mark_;
};

}  // namespace holdfast::fencing
