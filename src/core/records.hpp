#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/mode.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>
#include <holdfast/token.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace holdfast::core {

/// A time for people that was stored, which may be any number: no further from now than what can be
/// told from the system clock, in its nanoseconds.
constexpr wall_time wall_time_of(std::int64_t microseconds) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2'000;
  return wall_time(std::chrono::microseconds(std::clamp(microseconds, -most, most)));
}

/// What a successor, which may take over, compares: it differs after every acknowledged beat, after
/// a deny, and between two sessions whatever their ids.
struct version {
  std::uint64_t inc{};   ///< Given by the engine at open; grows.
  std::uint64_t beat{};  ///< Changed by every acknowledged beat.
  bool denied{};
  friend bool operator==(const version&, const version&) = default;
};

/// Which file a session's life lock is: no other has the same, on no kernel. To be compared only.
struct life_place {
  std::uint64_t device{};  ///< One number of its device, its birth and the kernel's boot.
  std::uint64_t inode{};   ///< Zero: the session has no life lock.
  friend bool operator==(const life_place&, const life_place&) = default;
};

/// One session as an engine stores it.
struct session_record {
  session_id id{};
  version at;
  duration ttl{};
  std::uint64_t gate{};  ///< Every enqueue carries it; moving it shuts late ones out.
  life_place where{};
  owner_info owner{};  ///< For people, except that `pid` is a hint where to look first.
  wall_time opened{};  ///< For people.
  std::string denied_by{};
  std::string denied_why{};
};

/// Why a denied session is refused, for its owner.
inline std::string denial_text(std::string_view by, std::string_view why) {
  std::string text("an operator (");
  text.append(by).append(") denied it");
  if (!why.empty()) text.append(": ").append(why);
  return text;
}
inline std::string denial_text(const session_record& s) {
  return denial_text(s.denied_by, s.denied_why);
}

/// One entry of a lock's queue as an engine stores it. Alive iff its session record is.
struct entry {
  token order{};  ///< The engine's commit order: its place, and the fencing token.
  session_id owner{};
  std::uint64_t inc{};
  std::uint64_t request{};  ///< Unique in the session: finds an entry of unknown fate.
  mode how{mode::exclusive()};
  wall_time since{};  ///< For people.
};

}  // namespace holdfast::core
