#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/export.hpp>
#include <holdfast/fence.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/session.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>
#include <holdfast/token.hpp>

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Fence, then grant: replacing a holder before its lease has run out.
///
/// A lock passes on early only when the storage refuses the old holder first, so the program that
/// takes it says where its storage is fenced, and does nothing to the outside under these locks
/// but writes that this fence admits. That is its promise; nobody can check it.

namespace holdfast {

/// Options of a session all of whose locks are fenced at `fence_url` (as in fence::open), each
/// under a resource of the lock's own name. It stands at the end of the session's label, where
/// every operator sees it.
/// Errors: `invalid_argument` for what is no `file:PATH`, or when the label gets longer than 256
/// bytes.
HOLDFAST_EXPORT result<session_options> fenced_at(std::string_view fence_url,
                                                  session_options options = {});

/// Where the locks of this session are fenced; empty when it was opened without fenced_at().
HOLDFAST_EXPORT std::string fenced_where(const owner_info& owner);

/// What happens to one lock when its holder is replaced.
struct fenced_lock {
  lock_name name;
  holdfast::token held;   ///< The holder's.
  holdfast::token floor;  ///< Every token below is refused from then on: the holder's is.
};

/// The steps of replace_fenced(), in this order.
enum class replacing : std::uint8_t {
  denied,  ///< The session's heartbeats are refused; it gets no further lock.
  raised,  ///< The floor of one lock is on the disk, and no older pass is under way.
  freed    ///< The session's record is gone: its locks are free now.
};

/// "denied", "raised" or "freed".
HOLDFAST_EXPORT const char* name_of(replacing step) noexcept;

/// How to replace a holder.
struct replace_options {
  /// Kept with the denied session for as long as its record is there: a holder that beats meanwhile
  /// reads it, others find their record gone. At most 256 bytes, like `why`.
  std::string by{};
  std::string why{};  ///< The reason.
  /// How long to wait, at each lock, for writes of older tokens to end.
  duration wait = std::chrono::seconds(5);
  /// Stop is requested: that wait ends at once with `cancelled`.
  std::stop_token stop{};
  /// Looks and refuses as if it were meant, and changes nothing.
  bool dry_run{};
  /// Called after each step, before the next one: for an audit log. An error ends it there.
  std::function<result<void>(replacing step, const fenced_lock* lock)> on_step{};
};

/// Ends a session that was opened with fenced_at(`fence_url`), that very text, and frees its locks
/// at once: denies it, raises the floor of each lock that it holds to its token + 1, waits until
/// the storage has that, and only then removes the session's record.
///
/// The fence must have seen the holder's token, or it could be another file by the same name: a
/// holder admits its token (fence::admit) right after the grant, before it has anything to write.
///
/// Ended at any point it leaves a session that falls by its ttl; it may be called again.
///
/// What it does **not** promise: to stop what the holder does elsewhere than in storage behind this
/// fence.
/// Errors: `invalid_argument` (no such session; it was opened without this fence, by name; the
/// fence has not seen its token),
/// `unsupported` (it holds a lock that is not exclusive, for its floor would refuse live holders;
/// a store where a record cannot be removed early), those of fence::open and fence::raise and of
/// store::deny. `busy`: the session changed meanwhile; call it again.
HOLDFAST_EXPORT result<std::vector<fenced_lock>> replace_fenced(std::string_view store_url,
                                                                session_id id,
                                                                std::string_view fence_url,
                                                                const replace_options& options);

}  // namespace holdfast
