#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/mode.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/token.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// The contents of a store, shown to people: plain values, filled by store::list and by events.
///
/// The library decides nothing by them. Wall-clock times come from the machines that wrote them,
/// and are as correct as the clocks of those machines.

namespace holdfast {

/// A wall-clock time for people, in microseconds since the Unix epoch.
using wall_time = std::chrono::sys_time<std::chrono::microseconds>;

/// How a session describes its owner. Shown to people; never used to infer life or death.
struct owner_info {
  std::string host;      ///< The machine's host name when the session was opened.
  std::string boot_id;   ///< The kernel's boot id; empty when it could not be read.
  std::int64_t pid{};    ///< The process id, in its own pid namespace.
  std::string program;   ///< File name of the program, or what session_options::program said.
  std::string instance;  ///< session_options::instance; empty when none was given.
  std::string label;     ///< session_options::label; empty when none was given.
  wall_time started{};   ///< When the process started.
};

/// What this host knows about the processes of a session, from its life lock alone.
enum class life : std::uint8_t {
  unknown,  ///< Another host, or the life lock cannot be examined: only the ttl decides.
  alive,    ///< A process still holds the life lock.
  dead,     ///< Proven dead on this host: the next arrival breaks it; an operator may, too.
};

/// "unknown", "alive" or "dead".
HOLDFAST_EXPORT const char* name_of(life l) noexcept;

/// One session: its record, and its life as far as this host can judge it.
struct session_info {
  session_id id;
  owner_info owner;
  /// Without an acknowledged heartbeat for that long it ends. On Redlock in whole milliseconds,
  /// rounded up.
  duration ttl{};
  wall_time opened{};  ///< When it was opened.
  /// Acknowledged heartbeats; empty where the store does not count them: etcd and Redlock.
  std::optional<std::uint64_t> beats{};
  bool denied{};           ///< An operator ended it; its locks end with its ttl.
  std::string denied_by;   ///< The operator's name; empty unless `denied`.
  std::string denied_why;  ///< The operator's reason; empty unless `denied`.
  holdfast::life life{holdfast::life::unknown};
  std::uint64_t locks{};  ///< Its entries in the locks that are listed, held and waiting together.
};

/// One entry of a lock's queue: a holder or a waiter.
struct entry_info {
  session_id session;
  /// Its place in the order of arrival, and the token of a holder. On Redlock it may be shown too
  /// large once nodes have lost their state.
  holdfast::token token;
  holdfast::mode mode{holdfast::mode::exclusive()};
  bool granted{};  ///< True for a holder.
  /// When it arrived, also for a holder: the grant may have come much later. Zero on Redlock, where
  /// a lock does not keep it.
  wall_time since{};
};

/// One lock name that is held or awaited: its entries in order of arrival, at least one. On
/// Redlock, which has no queue, it is the holder's alone: nobody is listed who waits.
struct lock_info {
  lock_name name;
  std::vector<entry_info> entries;
};

/// All locks and sessions of a store at one moment: one consistent picture. In one of a
/// `redis://` store with hundreds of sessions each session is shown as it was at one moment, but
/// not all at the same one.
struct HOLDFAST_EXPORT snapshot {
  std::vector<lock_info> locks;        ///< By name, byte order.
  std::vector<session_info> sessions;  ///< By id.
  /// For people: why locks may be held that are not listed, as on a Redlock store without a
  /// majority that votes. Empty when nothing is known to be missing.
  std::string lacks{};
  /// How long to wait before the next look, when polling: nine times as long as the store needed
  /// for this look or for the one before, whichever is shorter, and at least 50 ms. So a change
  /// in a small store is seen at once, and a large store spends at most a tenth of its time on
  /// this. store::wait_for_change() waits that long by itself.
  duration rest{};

  /// The session of that id, such as an entry's; null when it is not in the picture. A binary
  /// search in `sessions`, into which it points.
  const session_info* find(const session_id& id) const noexcept;
  /// The lock of that name; null when nobody holds or awaits it. A binary search in `locks`, into
  /// which it points.
  const lock_info* find(const lock_name& name) const noexcept;
};

}  // namespace holdfast
