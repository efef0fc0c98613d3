#pragma once

#include "engines/local/floor.hpp"
#include "engines/local/folder_access.hpp"
#include "io/file/file_lock.hpp"
#include "io/file/files.hpp"

#include <holdfast/error.hpp>
#include <holdfast/store.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::engines::local {

/// What a `local:` URL asks for.
struct request {
  std::string path;
  std::string group{};  ///< Empty: the store is its owner's alone.
  missing what{missing::create};
  std::size_t data_bytes{std::size_t{1} << 30};  ///< The most that its records may take.
};

/// The names of a store's files.
namespace file {
inline constexpr const char* format =
    "format";  ///< Magic and version; decides whose directory it is.
inline constexpr const char* identity = "identity";  ///< Random, of the store for ever.
/// Byte 0: setup. Byte 1: the store is open. A byte far behind for each process: a copy of the
/// library in it has the store open. These are locked; the text says who was in setup last.
inline constexpr const char* lock = "lock";
inline constexpr const char* boot = "boot";  ///< The boot that data and shared belong to.
inline constexpr const char* data = "data.mdb";
inline constexpr const char* shared = "shared";  ///< shared_state.
inline constexpr const char* slots = "slots";    ///< A byte per process; see io::process_slot.
inline constexpr const char* life = "life";      ///< Directory of life locks.
}  // namespace file

/// A store's directory, checked, with the setup lock and the shared store lock held.
///
/// Setup: everything between taking and releasing the setup lock is done by one process at a time.
/// `boot` is removed before the first file of an earlier boot is touched and written after the last
/// new one is complete, so a kill at any point makes the next opener start over. What it has locked
/// is unlocked at its end, not only closed: a child that was forked meanwhile has the same
/// description, and would keep every other opener out for as long as it lives.
///
/// Thread safety: one owner.
class directory {
 public:
  /// Errors: `unavailable` with what to do, also when it is not there and may not be created;
  /// `unsupported` for a file system that is not known to be local, `damaged` for a foreign or
  /// newer one, `invalid_argument` for an unknown group.
  static result<directory> open(const request& asked);
  /// True when something is at that path, whatever it is, but for an empty folder.
  static bool exists(const std::string& path);
  /// Why a store could not be created there; empty when nothing speaks against it.
  static std::string obstacle(const std::string& path);

  const io::place& where() const noexcept { return where_; }
  const io::file_facts& facts() const noexcept { return facts_; }
  /// True when the path that it was opened by leads to another folder by now.
  bool is_displaced() const;
  mode_t file_mode() const noexcept { return grouped() ? 0660 : 0600; }
  bool grouped() const noexcept { return !group_.empty(); }
  const std::string& group() const noexcept { return group_; }
  /// True when data and shared were discarded or never made: the caller fills them, then calls
  /// finish_setup().
  bool fresh() const noexcept { return fresh_; }
  /// Refuses when another copy of this library in this process has the store open, and keeps others
  /// out until this is destroyed. To be asked before `slots` is opened: closing it frees the slot
  /// that the other copy has.
  result<void> keep_other_copies_out();
  /// Names this boot as the one the files belong to, and lets others in.
  result<void> finish_setup();

  /// 32 hexadecimal digits that no other store has.
  const std::string& identity() const noexcept { return identity_; }

  int lock_file() const noexcept { return lock_.get(); }

 private:
  directory() = default;
  folder_access access() const { return {where_.path, facts_, group_}; }
  /// Its file system and its modes, before anything is read or written.
  result<void> check_access(std::optional<gid_t> group);
  /// False: there is no file of that name.
  result<bool> has_format() const;
  /// False: it is empty, or somebody is making the store. Error: it is not ours.
  result<bool> is_store() const;
  /// `may_create`: with the setup lock. Without it a folder that may become a store passes as well.
  result<void> check_format(bool may_create);
  /// One process at a time gets on from here; finish_setup() lets the next one in.
  result<void> lock_setup();
  /// As one of those who have the store open; the first one after a start of the machine discards.
  result<void> enter_boot();
  /// Data, memory and lives of the boot before, unless somebody still uses them.
  result<void> discard_old_boot(bool was_named);
  /// Its mode is repaired where whoever made it was stopped in between.
  result<void> make_life_directory();
  /// Made once, and kept over all boots.
  result<void> read_identity();

  io::unique_fd fd_;
  std::string asked_;
  io::place where_;
  io::file_facts facts_;
  io::unique_fd lock_;
  // Unlocked from the last one up: whoever gets into setup next looks at the others.
  io::locked_byte setup_;
  io::locked_byte opened_;
  io::locked_byte only_copy_;
  std::string boot_;
  std::string identity_;
  std::string group_;
  missing what_{missing::create};
  bool fresh_{};
};

/// Text of a format file of this version.
std::string_view format_text() noexcept;

/// True when some process holds the life lock of any session in the life directory.
result<bool> anybody_lives(const io::place& life);

}  // namespace holdfast::engines::local
