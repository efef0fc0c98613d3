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
  token writer;  ///< The token of its segment's writer; after compact() of the writer that merged.
  std::span<const std::byte> bytes;
};

/// Where a reader begins, and which records it returns.
struct reader_options {
  /// The first record to return. Zero: the oldest there is.
  record_number from{};
  /// survives::power_loss: only records that no power loss can take back.
  survives durability = survives::kill;
};

/// Reads a log in its order, also while a writer appends to it.
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
/// | is corrupt, or its file is missing    | damaged, with the file; skip() goes past it    |
///
/// Each acknowledged record is returned once, in order. One that was acknowledged before next()
/// was called is not missed. A reader needs the right to read the directory, and no lock or
/// token.
///
/// What it does **not** promise:
/// - To notify of new records: call next() again.
/// - That a record which was not synced is still there after a power loss; see
///   reader_options::durability.
/// - That its writer is still the newest.
///
/// Thread safety: one thread at a time. A moved-from reader may only be destroyed or assigned.
class [[nodiscard]] HOLDFAST_EXPORT log_reader {
 public:
  /// Opens the log in `directory`. Damaged segments and inline versions are no obstacle: next()
  /// reports them when it comes to them.
  ///
  /// Errors:
  /// - `invalid_argument`: a path that is relative or has a NUL.
  /// - `unavailable`: there is no log.
  /// - `damaged`, `unsupported`: as fenced_log::open.
  static result<log_reader> open(const std::string& directory, const reader_options& options = {});

  log_reader(log_reader&& other) noexcept;
  log_reader& operator=(log_reader&& other) noexcept;
  ~log_reader();

  /// The next record, or nothing at the present end. Errors: as the table. After an error the
  /// position does not change: the same call fails again until the log is repaired or skip() is
  /// called.
  result<std::optional<log_record>> next();

  /// After `damaged`, or for discarded records: goes on at the first record after them, and
  /// returns how many records that leaves out; zero when nothing is wrong here. Errors: `damaged`
  /// when it is not known what follows.
  result<std::uint64_t> skip();

  /// The number of the record that next() looks for.
  record_number position() const noexcept;

 private:
  explicit log_reader(std::unique_ptr<fencing::log_view> view) noexcept;
  std::unique_ptr<fencing::log_view> view_;
};

}  // namespace holdfast
