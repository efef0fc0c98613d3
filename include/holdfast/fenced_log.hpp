#pragma once

#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/fencing_token.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace holdfast {

namespace fencing {
class log_owner;
}

/// The number of a record in a log: 1, 2, 3, ... in the order of the log, never used twice. Zero is
/// no record.
struct record_number {
  std::uint64_t value{};
  friend auto operator<=>(const record_number&, const record_number&) = default;
};

/// What an acknowledged record outlives.
enum class survives : std::uint8_t {
  kill,       ///< The end of every process, kill -9 included. Costs the write alone.
  power_loss  ///< The end of the machine too: fdatasync(2) before it is acknowledged.
};

/// How a log is written.
struct log_options {
  /// From this size on, in bytes, a new segment is begun; 4 KiB to 1 GiB. Old records are discarded
  /// by whole segments.
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;
  /// Disk space that is taken ahead, in bytes, and up to 16 times as much in a segment that has
  /// grown, so that a full disk is noticed before a write, and not in its middle; at most 1 GiB. A
  /// few blocks of it are for no record: discard_before() needs them to free space on a full disk.
  /// They are taken from the beginning, where open() finds room for them. Zero: none; then a write
  /// that meets a full disk ends the writer.
  std::uint64_t reserve_bytes = std::uint64_t{1} << 20;
};

/// What fenced_log::open found.
struct log_takeover {
  /// Who wrote before; zero: nobody.
  token before{};
  /// Bytes behind the last whole record of whoever wrote before, which are not part of the log: an
  /// append that was cut short by a crash or a power loss, or everything from a damaged record on.
  /// They stay in its segment's file; where no whole record is before them, in `cut.T.O.N`.
  std::uint64_t bytes_cut{};
};

/// The one writer of an append-only log in a directory, for as long as nobody opens it with a newer
/// token. However late a writer that was replaced wakes up, what it writes then is not in the log.
///
/// A log is made by whoever opens it first, and compares from then on only tokens of that lock.
/// Any number of processes of one machine may open and read it at a time.
///
/// | this writer is         | append, sync           | seal, compact, discard_before |
/// |------------------------|------------------------|-------------------------------|
/// | the newest             | acknowledged           | done                          |
/// | replaced               | stale_token            | stale_token                   |
/// | stopped by a failure   | unavailable            | unavailable                   |
/// | sealed by itself       | invalid_argument       | invalid_argument              |
///
/// A record is acknowledged only if, after the write (and its sync), the log's epoch is still this
/// writer's; a newer writer raises the epoch before it reads how long the log is (docs/fence.md has
/// the argument). `outcome_unknown` from append(): the record may be in the log or not; after a
/// failed write or sync the writer also stops, and a sync is never tried again. Open it anew, which
/// the same token may do, and read what is there. seal(), compact(), discard_before() and a new
/// segment stop it only where others may see what failed; on a full disk it goes on, as before.
///
/// Any call may throw `std::bad_alloc`, and so do those that were written together with it: then
/// the record may be in the log or not, as after `outcome_unknown`. A writer that had no memory for
/// a record alone goes on, any other has stopped.
///
/// Under a limit on the size of files (`ulimit -f`) the kernel sends SIGXFSZ, which ends the
/// process; where that is ignored it is as on a full disk. A full btrfs ends the process by SIGBUS
/// with Linux before 6.17, or after a snapshot of the log (docs/stores.md, "Copy on write").
///
/// What it does **not** promise: that an acknowledged record survives a power loss without
/// survives::power_loss (records before it may be lost with it, never in its middle); that a
/// program without the library cannot write to the files; anything on a network file system, which
/// is refused.
///
/// Thread safety: append() and sync() from any number of threads, who share one write and one sync;
/// the rest too. A call waits for the calls before it, as long as the disk takes. Not after a
/// fork: the child gets `lost`. A moved-from writer may only be destroyed or assigned.
class [[nodiscard]] HOLDFAST_EXPORT fenced_log {
 public:
  /// Takes the log in `directory` over: refuses older tokens from then on, fixes the length of what
  /// was written before, cut to the last whole record, and begins a segment of its own. Makes the
  /// log when there is none, and the directory, whose parent has to exist. An equal token passes,
  /// and replaces whoever opened it before with the same (2047 times).
  ///
  /// Errors: `stale_token`; `invalid_argument` for a path that is relative or has a NUL, a token of
  /// zero, out of range or of another lock or store, or for options out of range; `damaged` for a
  /// directory that is no log, or one with files missing or too short, or a corrupt inline version
  /// (a log_reader still serves what is certain, and tells of corrupt records, which are not looked
  /// for here); `unsupported` for a newer format or a file system without the needed guarantees, by
  /// name; `unavailable`.
  static result<fenced_log> open(const std::string& directory, const fencing_token& with,
                                 const log_options& options = {});

  fenced_log(fenced_log&& other) noexcept;
  fenced_log& operator=(fenced_log&& other) noexcept;
  /// Ends this writer without a sync. What was acknowledged stays.
  ~fenced_log();

  /// Appends a record of 0 bytes to 16 MiB; its number. While this writer is alone and the newest,
  /// it takes no lock and makes no system call but the write (and its sync), but for one
  /// reservation every `reserve_bytes` and a new segment every `segment_bytes`. Errors: as the
  /// table; `outcome_unknown`; `unavailable` on a full disk, and then nothing was written and the
  /// writer goes on; `invalid_argument` for one that is too long.
  result<record_number> append(std::span<const std::byte> record,
                               survives durability = survives::kill);

  /// Everything that was acknowledged so far survives a power loss. Errors: as append().
  result<void> sync();

  /// Ends this writer for good: the length is fixed and synced. The next record will have the
  /// number that is returned, whoever writes it. Errors: as the table; `outcome_unknown`.
  result<record_number> seal();

  /// Discards the segments whose records are all before `first`; the number of the oldest record
  /// that is left. Readers that had not come so far are told. Errors: as the table.
  result<record_number> discard_before(record_number first);

  /// Merges runs of small old segments, such as many takeovers leave, into one each; how many files
  /// that saves. Reads and checks each record. Errors: as the table; `damaged`, and then nothing
  /// was changed.
  result<std::size_t> compact();

  /// What open() found.
  const log_takeover& opened() const noexcept;

 private:
  explicit fenced_log(std::unique_ptr<fencing::log_owner> owner) noexcept;
  std::unique_ptr<fencing::log_owner> owner_;
};

/// Refuses older tokens and fixes the length of the log, without becoming its writer: for whoever
/// passes the lock on. The number that the next record will have. Errors: as fenced_log::open; a
/// log that is not there is made, so that it refuses them from its first day.
HOLDFAST_EXPORT result<record_number> seal_log(const std::string& directory,
                                               const fencing_token& with);

}  // namespace holdfast
