#pragma once

#include <holdfast/clock.hpp>
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
/// What a store looks like to people: plain values, filled by store::list and by observer events.
///
/// Nothing here takes part in a decision of the library. Wall-clock times come from the machines
/// that wrote them and are as right as those machines' clocks.

namespace holdfast {

/// A wall-clock time for people, in microseconds of the Unix epoch.
using wall_time = std::chrono::sys_time<std::chrono::microseconds>;

/// Who a session says it is. Shown to people; never used to infer life or death.
struct owner_info {
  std::string host;      ///< The machine's name when the session was opened.
  std::string boot_id;   ///< The kernel's boot id; empty when it could not be read.
  std::int64_t pid{};    ///< In its own pid namespace.
  std::string program;   ///< File name of the program, or what session_options::program said.
  std::string instance;  ///< session_options::instance; empty when none was given.
  std::string label;     ///< session_options::label; empty when none was given.
  wall_time started{};   ///< When the process started.
};

/// What this host knows of the life of a session's processes, by its life lock alone.
enum class life : std::uint8_t {
  unknown,  ///< Another host, or the life lock cannot be looked at: only the ttl decides.
  alive,    ///< Some process still holds the life lock.
  dead,     ///< Proven dead on this host: the next arrival breaks it, and so may an operator.
};

/// One session, as its record says and as far as this host can judge its life.
struct session_info {
  session_id id;
  owner_info owner;
  duration ttl{};      ///< What it promised to beat within.
  wall_time opened{};  ///< When it was opened.
  /// Acknowledged heartbeats; empty where the store does not count them: etcd and Redlock.
  std::optional<std::uint64_t> beats{};
  bool denied{};           ///< An operator ended it; what it holds falls with its ttl.
  std::string denied_by;   ///< Who denied it; empty unless `denied`.
  std::string denied_why;  ///< The typed reason; empty unless `denied`.
  holdfast::life life{holdfast::life::unknown};
  std::uint64_t locks{};  ///< Live entries, held and waiting together.
};

/// One entry of a lock's queue: a holder, or somebody who waits.
struct entry_info {
  session_id session;
  /// Its place in the order of arrival; the holder's fencing token, which on Redlock may be shown
  /// too large once nodes have lost their state.
  holdfast::token token;
  holdfast::mode mode{holdfast::mode::exclusive()};
  bool granted{};     ///< True for holders.
  wall_time since{};  ///< When it asked, also of a holder: the grant may have come much later.
};

/// One lock name that is held or waited for: entries in order of arrival, at least one.
struct lock_info {
  lock_name name;
  std::vector<entry_info> entries;
};

/// Everything in a store at one moment: one consistent picture. Of a `redis://` store with hundreds
/// of sessions each session is shown as it was at one moment, but not all at the same one.
struct snapshot {
  std::vector<lock_info> locks;        ///< By name, byte order.
  std::vector<session_info> sessions;  ///< By id.
  /// For people: why locks may be held that are not in it, as on a Redlock store without a majority
  /// that votes; empty when nothing is known to be missing.
  std::string lacks{};
  /// How long to leave the store alone for who looks again and again: nine times as long as it
  /// needed for this look or for the one before, the shorter of the two, and no less than 50 ms. So
  /// a change in a small store is seen at once, and a large one is busy with that for a tenth of
  /// the time. store::wait_for_change() does so by itself.
  duration rest{};
};

}  // namespace holdfast
