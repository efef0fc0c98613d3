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

/// The number of a record in a log: 1, 2, 3, ... in the order of the log, never used twice. Zero:
/// no record.
struct record_number {
  std::uint64_t value{};
  friend auto operator<=>(const record_number&, const record_number&) = default;
};

/// What an acknowledged record survives.
enum class survives : std::uint8_t {
  kill,       ///< The end of every process, kill -9 included. Costs only the write.
  power_loss  ///< Also a power loss: fdatasync(2) before it is acknowledged.
};

/// How a log is written.
struct log_options {
  /// A segment is closed and a new one begun at this size: 4 KiB to 1 GiB, in bytes. Old records
  /// are discarded by whole segments.
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;
  /// Disk space that is reserved ahead, in bytes, so that a full disk is noticed before a write
  /// and not in its middle; at most 1 GiB. A segment that has grown reserves up to 16 times as
  /// much. Zero: none; then a write that meets a full disk ends the writer.
  ///
  /// A few blocks of it hold no records: discard_before() needs them to free space on a full
  /// disk. They are reserved from the beginning, if open() finds room for them.
  std::uint64_t reserve_bytes = std::uint64_t{1} << 20;
};

/// What fenced_log::open found.
struct log_takeover {
  /// The token of the writer before; zero: there was none.
  token before{};
  /// Bytes after the last whole record of the writer before, which are not part of the log: an
  /// append that a crash or a power loss cut short, or everything from a damaged record on. They
  /// stay in the file of its segment; in `cut.T.O.N` if no whole record is before them, or if
  /// those before them were copied to another file.
  std::uint64_t bytes_cut{};
};

/// The one writer of an append-only log in a directory, until another one opens it with a newer
/// token. However late a replaced writer wakes up, what it writes then is not in the log.
///
/// The first open() makes the log and binds it to one lock of one store: from then on it compares
/// only tokens of that. Any number of processes of one machine may open and read it at a time.
///
/// | this writer is         | append, sync           | seal, compact, discard_before |
/// |------------------------|------------------------|-------------------------------|
/// | the newest             | acknowledged           | done                          |
/// | replaced               | stale_token            | stale_token                   |
/// | stopped by a failure   | unavailable            | unavailable                   |
/// | sealed by itself       | invalid_argument       | invalid_argument              |
///
/// A record is acknowledged only if the log's epoch is still this writer's after the write (and
/// its sync). A newer writer raises the epoch before it reads how long the log is; docs/fence.md
/// has the argument.
///
/// Failures:
/// - `outcome_unknown` from append(): the record may be in the log or not.
/// - After a failed write or sync the writer stops; a sync is never tried again. Open the log
///   anew, which the same token may do, and read what is there.
/// - After a failure of seal(), compact(), discard_before() or a new segment it stops only if
///   others may see what failed. On a full disk it goes on as before.
/// - Any call may throw `std::bad_alloc`, and so do the calls that were written together with it:
///   the record may be in the log or not. A writer that lacked memory only for the record itself
///   goes on; any other has stopped.
/// - Under a limit on file sizes (`ulimit -f`) the kernel sends SIGXFSZ, which ends the process;
///   if it is ignored, that is as a full disk.
/// - A full btrfs ends the process by SIGBUS with Linux before 6.17, or after a snapshot of the
///   log (docs/stores.md, "Copy on write").
///
/// What it does **not** promise:
/// - That an acknowledged record survives a power loss without survives::power_loss. Records
///   before it may be lost with it, never from its middle.
/// - That a program without the library cannot write to the files.
/// - Anything on a network file system, which is refused.
///
/// Thread safety: every function may be called from any number of threads. append() and sync()
/// share one write and one sync. A call waits for the calls before it, for as long as the disk
/// takes. In a forked child calls report `lost`. A moved-from writer may only be destroyed or
/// assigned.
class [[nodiscard]] HOLDFAST_EXPORT fenced_log {
 public:
  /// Takes the log in `directory` over: refuses older tokens from then on, fixes the length of
  /// what was written before, cut to the last whole record, and begins a segment of its own.
  /// Makes the log, and its directory, if there is none; the parent directory has to exist. An
  /// equal token is admitted, and replaces the writer that opened the log with it before (2047
  /// times).
  ///
  /// Errors:
  /// - `stale_token`: a newer token has opened or sealed the log, or this one has opened it 2047
  ///   times.
  /// - `invalid_argument`: a path that is relative or has a NUL; a token of zero, out of range or
  ///   of another lock or store; options out of range.
  /// - `damaged`: a directory that is no log, or one with files missing or too short, or a
  ///   corrupt inline version. A log_reader still returns what is certain, and reports corrupt
  ///   records, which are not looked for here.
  /// - `unsupported`: a newer format, or a file system without the needed guarantees, which the
  ///   message names.
  /// - `unavailable`: the files cannot be used now.
  static result<fenced_log> open(const std::string& directory, const fencing_token& with,
                                 const log_options& options = {});

  fenced_log(fenced_log&& other) noexcept;
  fenced_log& operator=(fenced_log&& other) noexcept;
  /// Ends this writer without a sync. What was acknowledged stays in the log.
  ~fenced_log();

  /// Appends a record of 0 bytes to 16 MiB and returns its number. While this writer is alone and
  /// the newest, it takes no lock and makes no system call but the write (and its sync), one
  /// reservation every `reserve_bytes`, and those for a new segment every `segment_bytes`.
  ///
  /// Errors: as the table, and
  /// - `outcome_unknown`: the record may be in the log.
  /// - `unavailable`: a full disk or 150,000 segments; nothing was written, and the writer goes
  ///   on.
  /// - `invalid_argument`: the record is too long.
  result<record_number> append(std::span<const std::byte> record,
                               survives durability = survives::kill);

  /// Makes everything that was acknowledged so far survive a power loss. Errors: as append().
  result<void> sync();

  /// Ends this writer for good: the length of the log is fixed and synced. Returns the number
  /// that the next record will have, of whichever writer. Errors: as the table;
  /// `outcome_unknown`.
  result<record_number> seal();

  /// Discards the segments whose records are all before `first`. Returns the number of the oldest
  /// record that is left. Readers that have not come so far get an error. Errors: as the table.
  result<record_number> discard_before(record_number first);

  /// Merges each run of small old segments, as many takeovers leave them, into one, and returns
  /// how many files that saves. Reads and checks each record. Errors: as the table; `damaged`,
  /// and then nothing was changed.
  result<std::size_t> compact();

  /// What open() found in the log.
  const log_takeover& opened() const noexcept;

 private:
  explicit fenced_log(std::unique_ptr<fencing::log_owner> owner) noexcept;
  std::unique_ptr<fencing::log_owner> owner_;
};

/// Refuses older tokens and fixes the length of the log without becoming its writer: for a
/// program that passes the lock on. Returns the number that the next record will have. Makes the
/// log if there is none, so that it refuses older tokens from its first day. Errors: as
/// fenced_log::open.
HOLDFAST_EXPORT result<record_number> seal_log(const std::string& directory,
                                               const fencing_token& with);

}  // namespace holdfast
