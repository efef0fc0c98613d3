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
/// A lock can change hands early only if the storage refuses the old holder first. So the program
/// that takes it names the fence of its storage, and under these locks changes nothing but by
/// writes that this fence admits. The program promises that; nothing can check it.

namespace holdfast {

/// Options of a session whose locks are all fenced at `fence_url` (as in fence::open), each under
/// a resource with the lock's name. The URL is appended to the session's label, where every
/// operator sees it. Errors: `invalid_argument` for anything but `file:PATH`, for a path with
/// ` fenced=` in it, or when the label becomes longer than 256 bytes.
HOLDFAST_EXPORT result<session_options> fenced_at(std::string_view fence_url,
                                                  session_options options = {});

/// The fence URL of a session; empty when it was opened without fenced_at().
HOLDFAST_EXPORT std::string fenced_where(const owner_info& owner);

/// What happens to one lock when its holder is replaced.
struct fenced_lock {
  lock_name name;
  holdfast::token held;   ///< The holder's token.
  holdfast::token floor;  ///< Every token below this is refused from then on, so the holder's too.
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
  /// Who replaces it. Kept with the denied session's record for as long as that exists: a holder
  /// that beats meanwhile reads it, others find their record gone. At most 256 bytes,
  /// without control characters, like `why`.
  std::string by{};
  std::string why{};  ///< The reason, kept likewise.
  /// How long to wait, for each lock, until writes with older tokens end.
  duration wait = std::chrono::seconds(5);
  /// When stop is requested that wait ends at once with `cancelled`.
  std::stop_token stop{};
  /// Makes every check that replace_fenced() makes before it changes anything, and changes nothing.
  bool dry_run{};
  /// Called after each step, before the next one: for an audit log. An error ends the
  /// replacement.
  std::function<result<void>(replacing step, const fenced_lock* lock)> on_step{};
};

/// Ends a session that was opened with fenced_at(`fence_url`), with exactly that text, and frees
/// its locks at once. It denies the session, raises the floor of each lock that it holds to the
/// lock's token plus one, waits until the storage has that, and only then removes the session's
/// record.
///
/// The fence must have seen the holder's token, else it could be another file with the same name.
/// So a holder admits its token (fence::admit) right after the grant, before it has anything to
/// write.
///
/// If it ends early, at any point, the session ends by its ttl. It may be called again.
///
/// What it does **not** promise: to stop what the holder does outside storage behind this fence.
///
/// Errors: those of store::open, store::identity, store::deny, fence::open and fence::raise, that
/// which `on_step` returned, and
/// - `invalid_argument`: no such session; it was opened without this fence, which the message
///   names; or the fence has not seen its token.
/// - `unsupported`: it holds a lock that is not exclusive, whose floor would refuse live holders;
///   or a store where a record cannot be removed early.
/// - `busy`: the session changed meanwhile; it is denied, and the floors are raised. Call it again.
/// - `would_block`: a thread of the library would have to wait.
HOLDFAST_EXPORT result<std::vector<fenced_lock>> replace_fenced(std::string_view store_url,
                                                                session_id id,
                                                                std::string_view fence_url,
                                                                const replace_options& options);

}  // namespace holdfast
