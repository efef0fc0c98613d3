#pragma once

#include "fence/append_queue.hpp"
#include "fence/log_seal.hpp"

#include <holdfast/fenced_log.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace holdfast::fencing {

/// The inside of a fenced_log. Whoever leads the queue is the only one that touches the rest.
///
/// Thread safety: the public functions, from any thread.
class log_owner {
 public:
  /// Whether they are in range: before a log is made with them.
  static result<void> check(const log_options& options);
  static result<std::unique_ptr<log_owner>> open(log_ground on, const fencing_token& with,
                                                 const log_options& options);

  result<record_number> append(std::span<const std::byte> record, survives what);
  result<void> sync();
  result<record_number> seal();
  result<record_number> discard_before(record_number first);
  result<std::size_t> compact();
  const log_takeover& opened() const noexcept { return taken_.report; }
  ~log_owner();

 private:
  log_owner(log_directory log, taken_log taken, const log_options& options);

  // log_owner.cpp: calls and their order.

  /// Blocks until it was served, by this thread or by another one that leads. Throws what
  /// serving it threw.
  void run(pending_call& mine);
  /// Serves its own call and those in line behind it, and hands the lead on.
  void lead(pending_call& mine) noexcept;
  void serve(std::span<pending_call* const> calls) noexcept;
  /// Only appends and syncs, or one call that runs alone. What is thrown is kept for each of them.
  void serve_alike(std::span<pending_call* const> calls) noexcept;
  /// Has `body` run between appends, as long as this writer may change the log.
  template <class T>
  result<T> run_alone(const std::function<result<T>()>& body);
  /// Looks at the epoch: `stale_token`, and the writer stops, once there is a newer writer.
  result<void> may_change();

  // log_append.cpp: the writer's rule.
  void append_all(std::span<pending_call* const> calls);
  /// A failure has written none of their records.
  result<void> make_room(std::span<pending_call* const> calls);
  /// Has real blocks for the segment's first `bytes`, and behind them the spare.
  result<void> reserve(std::uint64_t bytes);
  result<void> reserve_spare(const own_segment& in, std::uint64_t from, const log_inline& v) const;
  result<void> reserve_in(const own_segment& in, std::uint64_t from, std::uint64_t bytes) const;
  /// Where the records of some found no room.
  void go_on_without_room(std::span<pending_call* const> calls, const error& why);
  /// What was written is in the log, if the epoch is still this writer's. Else resolve() says for
  /// each of them whether that is known.
  void acknowledge(std::span<pending_call* const> calls, survives what);
  /// A sync that fails is the failure of those that need it, and of no others.
  void sync_for(std::span<pending_call* const> calls);
  void resolve(std::span<pending_call* const> calls, survives what);
  /// A failure stops the writer for good.
  result<void> sync_file();
  /// Every later call gets `why`; the first one stays.
  void stop(const error& why);

  // log_change.cpp: other versions.

  /// Removes what older writers left, once: with a change that writes files anyway, or at the end.
  void clean() noexcept;
  result<void> publish(log_inline next);
  result<void> publish_in_need(log_inline next);
  /// Frees what is reserved behind the last record, the spare too.
  void give_back();
  /// After a failure the writer goes on in the old segment, unless it was stopped.
  result<void> begin_segment();
  result<void> close_segment(log_inline& next);
  /// It was the last call of this writer, if it succeeds.
  result<record_number> seal_now();
  result<record_number> discard_now(record_number first);
  result<std::size_t> compact_now();

  log_directory log_;
  log_options options_;
  taken_log taken_;  ///< As it was found; `segment` was moved away.
  bool cleaned_{};
  log_epoch mine_;
  std::uint64_t process_;
  append_queue queue_;

  log_inline version_;
  own_segment segment_;
  segment_place at_;  ///< Behind the last record in the segment.
  segment_place synced_;
  std::uint64_t reserved_{};  ///< Bytes of the segment that have real blocks, without the spare.
  std::uint32_t next_ordinal_{1};
  std::uint32_t next_copy_{first_copy_of_owner};
  std::vector<std::byte> batch_;  ///< Grows only: it is written from the begin each time.
  std::optional<error> stopped_;
  bool changing_{};  ///< Whoever throws now leaves it unknown what was done.
  error broken_;     ///< What later calls get then; made while there is memory for it.

  static constexpr std::uint32_t first_copy_of_owner = (std::uint32_t{1} << 31) + 1;
};

}  // namespace holdfast::fencing
