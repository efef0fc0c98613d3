#pragma once

#include "core/engine.hpp"
#include "core/lease.hpp"
#include "core/store_url.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/duration.hpp>
#include <holdfast/error.hpp>
#include <holdfast/redlock.hpp>
#include <holdfast/store.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::io {
class loop;
}

namespace holdfast::engines {

/// The silence of a store while one of its servers is replaced by another.
struct failover {
  duration silence{};
  std::string why{};  ///< For people: "the election timeout is 1s".
};

/// What every engine folder's `open.hpp` gives: a function `open_<engine>(url, missing)` that
/// answers with this, and `find_<engine>(url)` that answers as store::find does. Opening the same
/// store twice in a process shares one underlying environment.
struct opened_store {
  std::shared_ptr<core::engine> engine;
  std::string url;  ///< Canonical, without secrets: equal for equal stores.
  /// The text of the store's identity; see holdfast::store_identity. May ask the store, but not
  /// once a session was opened on it. From any thread.
  std::function<result<std::string>()> identity{};
  std::string life_directory;  ///< Where life locks of its sessions are; empty: it has none.
  std::string no_life{};       ///< Why it has none, where others of its kind do; else empty.
  bool group_writable{};       ///< Files in life_directory are for the directory's group too.
  /// The longest ttl of a session, when the store has one of its own; never above core::ttl_max.
  std::optional<duration> ttl_limit{};
  /// The shortest one, for a shorter one would end without a fault; never below core::ttl_min.
  duration ttl_floor{core::ttl_min};
  std::string ttl_floor_reason{};  ///< For people: a clause; empty where core::ttl_min is it.
  /// The loop on which the engine answers: sessions run on it, too, so that what one answer causes
  /// needs no other thread. Null: the engine has none.
  std::shared_ptr<io::loop> loop{};
  bool counts_beats{true};  ///< False: its records do not tell how often a session was kept.
  bool gives_tokens{true};  ///< False: that of every lock is zero.
  /// Its servers end what is not renewed: nobody has to look on until a ttl has passed.
  bool ends_by_itself{};
  /// Why no session of this store can be broken, for people; empty: those proven dead can.
  std::string cannot_break{};
  /// What holds on this store and what does not, two sentences for people.
  std::string promise{};
  /// How long a failure that the store survives may silence it, and why; null: it has no servers
  /// that fail and are replaced. Asks the servers, within their time limit.
  std::function<failover()> longest_failover{};
  /// What an operator does with the nodes of a Redlock store; null on all others.
  std::function<result<holdfast::redlock::overview>()> look_over{};
  std::function<result<holdfast::redlock::overview>(const holdfast::redlock::init_options&)> init{};
  std::function<result<holdfast::redlock::overview>(const holdfast::redlock::recover_options&)>
      recover{};
  /// The engine's part of store::diagnose().
  std::function<result<std::vector<finding>>()> diagnose;

  /// Without one, sessions of this host end by their ttl, like those of others.
  void keep_lives_in(result<std::string> directory) {
    if (directory) {
      life_directory = std::move(*directory);
    } else {
      no_life = directory.error().message();
    }
  }
  /// For engines that ask one server of several, for so long: a beat that is lost must not end a
  /// session, there has to be time for a second one.
  void need_time_for_two_beats(duration node_timeout) {
    ttl_floor = std::max(core::ttl_min, 2 * node_timeout);
    ttl_floor_reason = "a server may take " + print_duration(node_timeout) +
                       " (node_timeout) to answer, and a heartbeat that it loses is sent once more";
  }
  /// For engines that ask several nodes at once, for so long: a round that takes longer than the
  /// lock lasts can grant nothing.
  void need_time_for_a_round(duration node_timeout) {
    ttl_floor = std::max(core::ttl_min, 2 * node_timeout);
    ttl_floor_reason = "a node may take " + print_duration(node_timeout) +
                       " (node_timeout) to answer, and that is half of the ttl at most";
  }
};

}  // namespace holdfast::engines
