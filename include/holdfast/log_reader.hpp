#pragma once

#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/fenced_log.hpp>
#include <holdfast/token.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace holdfast {

namespace fencing {
class log_view;
}

/// One record of a log. The bytes belong to the reader and are valid until its next call.
struct log_record {
  record_number number;
  token writer;  ///< With which token its segment was written; after compact() that of who did it.
  std::span<const std::byte> bytes;
};

/// Where a reader begins, and what it returns.
struct reader_options {
  /// Zero: the oldest record there is.
  record_number from{};
  /// survives::power_loss: only records that no power loss can take back.
  survives durability = survives::kill;
};

/// Reads a log in its order, also while somebody appends to it.
///
/// | the next record                       | next()                                         |
/// |---------------------------------------|------------------------------------------------|
/// | is acknowledged                       | the record                                     |
/// | had `outcome_unknown`                 | the record, or never; once read, it stays      |
/// | is not there yet                      | nothing: ask again later                       |
/// | may be cut by a takeover under way    | unavailable: ask again when it is done         |
/// | is not known to be on the disk        | with survives::power_loss: nothing             |
/// | ... for its segment's mark is missing | ... unavailable, until a writer opens the log  |
/// | was discarded                         | unavailable, with the oldest that is left      |
/// | is corrupt, or its file is missing    | damaged, with the file; skip() goes behind it  |
///
/// Each acknowledged record is returned once, in order; one that was acknowledged before next() was
/// called is not missed. It needs the right to read the directory, and no lock and no token.
///
/// What it does **not** promise: to be woken; that a record which was not synced is still there
/// after a power loss (reader_options::durability); that its writer is still the newest.
///
/// Thread safety: one thread at a time. A moved-from reader may only be destroyed or assigned.
class [[nodiscard]] HOLDFAST_EXPORT log_reader {
 public:
  /// Errors: `invalid_argument` for a path that is relative or has a NUL; `unavailable` when there
  /// is no log; `damaged`, `unsupported` as fenced_log::open.
  /// Damaged segments and inline versions are no obstacle: next() tells when it comes to them.
  static result<log_reader> open(const std::string& directory, const reader_options& options = {});

  log_reader(log_reader&& other) noexcept;
  log_reader& operator=(log_reader&& other) noexcept;
  ~log_reader();

  /// The next record, or nothing at the present end. Errors as the table; the place does not
  /// change, so the same call fails again until it is repaired or skipped.
  result<std::optional<log_record>> next();

  /// After `damaged` or for discarded records: goes on at the first record that is behind. How many
  /// records that leaves out; zero when nothing is wrong here. Errors: `damaged` when it is not
  /// known what follows.
  result<std::uint64_t> skip();

  /// The number of the record that next() looks for.
  record_number position() const noexcept;

 private:
  explicit log_reader(std::unique_ptr<fencing::log_view> view) noexcept;
  std::unique_ptr<fencing::log_view> view_;
};

}  // namespace holdfast
