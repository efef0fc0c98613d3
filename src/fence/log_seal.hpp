#pragma once

#include "fence/log_directory.hpp"
#include "fence/log_mark.hpp"

#include <holdfast/fenced_log.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace holdfast::fencing {

/// Whether the one that takes a log over will write.
enum class then : std::uint8_t { write, leave_closed };

/// A segment that its writer has open.
struct own_segment {
  segment_id id;
  std::shared_ptr<io::folder_file> file;
  log_mark mark;
};

/// A log after it was taken over.
struct taken_log {
  log_epoch mine;
  log_inline version;
  std::optional<own_segment> segment;  ///< Nothing with then::leave_closed.
  log_takeover report;
  std::optional<segment_id> before;  ///< The segment that grew until now.
};

/// Gives back the space that was reserved behind the end of the segment before, and removes what
/// is left over of older writers. Nothing depends on it, so a new writer does it when it has time.
void clean_up(const log_directory& log, const taken_log& taken) noexcept;

/// Seal and take over, in the order of docs/fence.md: raise the epoch, fence, read the length, cut
/// it to the last whole record, sync, link the inline version that fixes it. The cut is the number
/// in that version and not the file's size: a sealer that was stopped before its link could
/// otherwise wake up and truncate what a newer one has sealed.
result<taken_log> take_over(const log_directory& log, token with, then what);

/// Blocks of an empty or full segment that no record gets: on a full disk they are given back to
/// make room for a version like `v`, with which records are discarded, and its name.
std::uint64_t spare_bytes(const log_inline& v);

/// Removes a segment that no version names, and its mark.
void remove_segment(const log_directory& log, const segment_id& id) noexcept;

/// Creates an empty segment and its mark; a leftover of the same name goes.
result<own_segment> create_segment(const log_directory& log, const segment_id& id);

/// Copies whole segments into one new file, record by record, and syncs it. `damaged` when one
/// cannot be read: nothing but the new file was written.
result<sealed_segment> copy_segments(const log_directory& log,
                                     const std::vector<sealed_segment>& from, const segment_id& to);

/// "stale_token": which token is the newest, on what. Makes the epoch durable first.
error replaced(const log_directory& log, log_epoch mine);

}  // namespace holdfast::fencing
