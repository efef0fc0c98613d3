#pragma once

#include "sim/random.hpp"
#include "sim/schedule.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace holdfast::sim {

/// What a run may contain. Chances are per million; a zero duration in `..._every` means never.
///
/// A run has two phases: for `faulty` everything below happens; then nothing
/// fails any more, and whoever waits must come to an end.
struct scenario {
  std::string_view name;
  std::string_view about;

  int stores{2};
  int hosts{3};
  int processes{5};
  int sessions{2};  ///< At most so many per process, each on a store of its own choice.
  int workers{2};   ///< At most so many per session.
  int names{2};     ///< Per store.
  duration ttl_least{std::chrono::milliseconds{400}};
  duration ttl_most{std::chrono::seconds{3}};

  duration latency_least{std::chrono::microseconds{50}};
  duration latency_most{std::chrono::milliseconds{8}};
  duration late_most{std::chrono::seconds{4}};
  duration timeout_least{std::chrono::milliseconds{60}};
  duration timeout_most{std::chrono::seconds{2}};
  int lost{20'000};
  int late{20'000};
  int duplicated{20'000};
  int refused{5'000};          ///< The client could not even send: `unavailable`.
  int stale{100'000};          ///< A view that was true a little earlier.
  int compare_beats{500'000};  ///< Stores whose beats compare a version and find earlier writes.

  int drift_ppm{10'000};
  duration drift_every{std::chrono::seconds{20}};
  duration pause_every{std::chrono::seconds{6}};
  duration pause_most{std::chrono::seconds{5}};
  duration crash_every{std::chrono::seconds{15}};
  int crash_step{300};  ///< Before any one step of a driver.
  duration outage_every{std::chrono::seconds{20}};
  duration outage_most{std::chrono::seconds{5}};
  duration cut_every{std::chrono::seconds{10}};
  duration cut_most{std::chrono::seconds{5}};
  duration deny_every{std::chrono::seconds{30}};
  duration close_every{std::chrono::seconds{20}};
  int death_hint{500'000};  ///< A same-host waiter hears at once that a process ended.

  int tries{300'000};
  int bounded{200'000};
  int cancelled{100'000};
  int shared{350'000};
  int permits{0};      ///< Chance that a name is used with permits.
  int disagreeing{0};  ///< Chance that an acquire brings another n, or another kind of mode.
  duration hold_most{std::chrono::milliseconds{800}};
  duration idle_most{std::chrono::milliseconds{600}};
  duration work_every{std::chrono::milliseconds{60}};
  duration poll{std::chrono::milliseconds{250}};

  duration faulty{std::chrono::seconds{40}};
  bool patrols{};                ///< Sessions look after the dead, whom nobody may wait for.
  bool drift_is_declared{true};  ///< False: clocks may break the assumption; overlap is expected.

  /// The same scenario with some of its faults left out and others made stronger, by chance: runs
  /// that differ in kind find more than runs that only differ in order (A. Groce and others,
  /// "Swarm testing", 2012).
  scenario varied(random& r) const;
};

std::span<const scenario> scenarios();
/// The scenario of that name.
std::optional<scenario> find_scenario(std::string_view name);

}  // namespace holdfast::sim
