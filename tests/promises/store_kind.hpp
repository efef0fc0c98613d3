#pragma once

#include <holdfast/clock.hpp>

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::promises {

/// One engine on servers of the tests' own, and what it refuses by design. Everything that is not
/// named here is promised by all of them alike.
struct store_kind {
  std::string name;
  /// The URL of a store that nobody has used yet, without a query.
  std::string (*fresh)();
  std::string query{};     ///< What each URL of it has.
  bool has_servers{true};  ///< They may not answer in time, so URLs name a `node_timeout`.
  bool has_queue{true};  ///< Shared holders, permits, an order of arrival, and waiters are listed.
  bool has_processes{true};  ///< Processes that share it.
  bool sees_deaths{true};    ///< The end of a process of this host is seen at once.
  bool breaks{true};         ///< What is proven dead can be broken.
  bool counts_beats{true};   ///< A list says how often a session's heartbeat was acknowledged.
  bool owns_names{};         ///< Names that begin with "holdfast:" are its own.
  bool keeps_denials{};      ///< A denied session's record stays after its end.
  bool has_to_be_made{};     ///< It does not exist until somebody makes it.
  /// All its servers stop, and go on.
  void (*freeze)(bool on){};
  duration ttl_min{std::chrono::milliseconds{500}};  ///< The shortest that tests use.
};

inline void PrintTo(const store_kind& kind, std::ostream* out) { *out << kind.name; }

/// All engines of this build.
std::vector<store_kind> all_kinds();

}  // namespace holdfast::promises
