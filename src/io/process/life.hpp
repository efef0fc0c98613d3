#pragma once

#include "core/records.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::io {

/// A session's life lock: an open file description lock on `DIRECTORY/<session id>`.
///
/// The kernel frees it when the last process that holds the description is gone: across fork, exec
/// and setsid, whatever the pid namespace. Who can take it has proof of death, as long as it is the
/// same file under the same kernel: place() tells. See fcntl(2), "Open file description locks".
///
/// Thread safety: as a plain value.
class life_lock {
 public:
  /// Creates the file (0600, or 0660 with `group_writable`; refuses an existing one) and locks it.
  /// The descriptor is close-on-exec.
  static result<life_lock> hold(const std::string& directory, const session_id& id,
                                bool group_writable = false);
  life_lock() = default;
  life_lock(life_lock&&) noexcept;
  life_lock& operator=(life_lock&&) noexcept;
  /// Removes the file, then closes the descriptor: call only after the session record is gone, or
  /// let the file stay with forget(). In a forked child it only closes the child's descriptor.
  ~life_lock();

  int descriptor() const noexcept { return fd_; }
  /// Empty where the kernel's boot id cannot be read: nobody will be able to judge this life.
  core::life_place place() const noexcept { return place_; }
  /// Closes without removing the file: the record may still be there and must stay judgeable.
  void forget() noexcept;

 private:
  int fd_{-1};
  std::uint64_t generation_{};  ///< The process that may remove the file.
  std::string path_;
  core::life_place place_;
};

/// Looks whether the life lock of `id` could be taken. `dead` is proof; `alive` means that some
/// process holds it now; `unknown` when the file is missing, is another file than `place` says (a
/// copy of it, say, or on another boot), or cannot be looked at. Takes nothing and changes nothing
/// (F_OFD_GETLK).
life probe_life(const std::string& directory, const session_id& id,
                const core::life_place& place) noexcept;

/// Whether the file was made within the last `time`, by the wall clock; also when that cannot be
/// told.
bool is_life_younger(const std::string& directory, const session_id& id, duration time) noexcept;

/// Removes the file of a session that was taken over. Best effort.
void remove_life(const std::string& directory, const session_id& id) noexcept;

/// A file that has a session's name and is free. It may be a copy, while its session lives: it is
/// proof of death for a record that names this very place, and for no other.
struct free_life {
  session_id id{};
  core::life_place where{};
};

/// The free ones among at most `most` files of `directory`, other ones each time. Removes what
/// hold() left behind where it was killed halfway.
std::vector<free_life> free_lives(const std::string& directory, std::size_t most);

}  // namespace holdfast::io
