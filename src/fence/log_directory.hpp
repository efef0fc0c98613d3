#pragma once

#include "fence/log_inline.hpp"
#include "io/file/folder.hpp"

#include <holdfast/error.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fencing {

/// Which boot this is cannot be read (no /proc): neither the same as another's nor a later one.
inline constexpr std::uint64_t unknown_boot = 0;

/// What a log stands on, besides its directory.
struct log_ground {
  std::unique_ptr<io::folder> files;
  std::uint64_t boot{};  ///< Differs after every start of the machine; or `unknown_boot`.
};

/// A log's directory, checked: the format file, the epoch word and the inline versions.
///
/// | file             | written by          | changed later              |
/// |------------------|---------------------|----------------------------|
/// | format           | who made the log    | never                      |
/// | epoch            | who made the log    | its words only grow        |
/// | inline.N         | who links it first  | never; removed when old    |
/// | segment.T.O.N    | its writer          | grows until it is sealed   |
/// | mark.T.O.N       | its writer          | removed with the next seal |
/// | cut.T.O.N        | who seals it        | never: for people          |
///
/// Thread safety: every function, from any thread.
class log_directory {
 public:
  /// Opens a log; makes one when there is none and `found_for` names the source of its tokens.
  /// Errors: `unavailable`, also when there is none; `damaged` for a directory that is something
  /// else or incomplete; `unsupported` for a newer format; `invalid_argument` when it is bound to
  /// another source than `found_for`.
  static result<log_directory> open(log_ground on, const std::string* found_for, io::opening how);

  io::folder& files() const noexcept { return *on_.files; }
  std::uint64_t boot() const noexcept { return on_.boot; }
  const std::string& source() const noexcept { return source_; }

  /// The newest epoch, as it is after everything that this thread did before.
  log_epoch epoch() const noexcept;
  /// The same without the fence.
  log_epoch epoch_hint() const noexcept { return {word(0).load(std::memory_order_relaxed)}; }
  bool raise_epoch(log_epoch& seen, log_epoch to) const noexcept {
    return word(0).compare_exchange_strong(seen.word, to.word);
  }
  /// Nobody may hear of a newer epoch that a power loss could take back.
  result<void> sync_epoch() const;

  /// The newest version that is known to be on the disk; a hint that there is a newer one to read.
  std::uint64_t version_hint() const noexcept { return word(1).load(); }

  /// The newest inline version. `damaged` when it cannot be read or is missing.
  result<log_inline> newest() const;
  /// The newest inline version that can be read, and what is wrong with those after it.
  struct readable {
    log_inline version;
    std::optional<error> fault{};
  };
  result<readable> newest_readable() const;

  /// Links `v` to its name. False: somebody else had linked that version before; read again.
  /// After true it is on the disk. After a failure `may_show` says whether others may see it; if
  /// not it is as if nobody had tried. `draft` is the caller's own, unused so far.
  result<bool> publish(const log_inline& v, const segment_id& draft, bool& may_show) const;

  /// `damaged` when a segment that `v` names is missing or too short, or when one with records is
  /// in no version: then a version is missing. Call it again with the newest before believing that.
  result<void> check_segments(const log_inline& v) const;
  /// Removes what no version of the last few names and no newer writer can have made. Failures are
  /// nothing: the next one tries again.
  void sweep(const log_inline& newest) const noexcept;
  /// Removes the one version that is no longer among the last few now that there is `newest`: a
  /// writer that makes many would fill the disk with them before anybody sweeps.
  void drop_before(const log_inline& newest) const noexcept;

 private:
  static constexpr std::size_t page = 4096;
  /// As many versions before the newest are kept.
  static constexpr std::uint64_t versions_kept = 2;

  log_directory() = default;
  /// False: the file is not there, and so no log is.
  result<bool> read_format(const std::string* found_for);
  /// Makes a log where nothing else is. Others may do the same at the same time: then all have one.
  result<void> found(const std::string& source);
  /// Whole and synced under its name, unless that is taken. The name itself is not synced.
  result<void> place(std::string_view name, std::string_view content) const;
  result<void> map_epoch(io::opening how);
  /// The numbers of those that are there, the newest first.
  result<std::vector<std::uint64_t>> versions() const;
  /// Nothing: it is not there any more.
  result<std::optional<log_inline>> read_version(std::uint64_t version) const;
  /// Whether sweep() removes it. `named`: the segments of `newest`, sorted.
  bool is_leftover(const std::string& name, const log_inline& newest,
                   const std::vector<segment_id>& named) const;
  std::atomic<std::uint64_t>& word(std::size_t at) const noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(words_)[at];
  }

  log_ground on_;
  std::string source_;
  std::unique_ptr<io::folder_file> epoch_;
  std::byte* words_{};
};

}  // namespace holdfast::fencing
