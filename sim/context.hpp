#pragma once

#include "sim/host.hpp"
#include "sim/random.hpp"
#include "sim/scenario.hpp"
#include "sim/trace.hpp"

#include "core/lease.hpp"
#include "core/records.hpp"

#include <holdfast/session_id.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sim {

class process;

/// One session as the omniscient observer knows it. Kept until the run ends.
struct session_truth {
  int index{};
  process* owner{};
  std::uint64_t incarnation{};  ///< Of the process that opened it.
  host* machine{};
  int store{};
  session_id id;
  duration ttl{};
  core::lease lease{};
  bool final{};
  std::optional<moment> denied_at{};
};

struct violation {
  moment when{};
  std::string what;
};

/// What everything in one run shares.
struct context {
  context(const scenario& s, std::uint64_t seed) : dice(seed), setup(s.varied(dice)) {
    for (int i = 0; i < setup.names; ++i) with_permits.push_back(dice.chance(setup.permits));
  }

  bool faulty() const noexcept { return time.now() < setup.faulty; }
  /// `per_million` while faults happen, never afterwards.
  bool mishap(int per_million) noexcept { return faulty() && dice.chance(per_million); }
  /// The session whose life lock is there; none for a record that nobody opened.
  session_truth* session_at(const core::life_place& p) noexcept {
    return p.inode == 0 ? nullptr : &sessions[static_cast<std::size_t>(p.inode) - 1];
  }
  /// The first violation ends the run.
  void fail(std::string what) {
    if (!found) found = violation{time.now(), std::move(what)};
  }

  random dice;
  scenario setup;
  std::vector<bool> with_permits;  ///< Which names are used with permits.
  schedule time;
  trace log;
  std::vector<host> hosts;
  std::deque<session_truth> sessions;
  std::optional<violation> found;
};

}  // namespace holdfast::sim
