#include "sim/scenario.hpp"

#include <algorithm>
#include <array>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

/// Everything at once.
scenario mixed() {
  return {.name = "mixed",
          .about = "every fault, every mode",
          .permits = 200'000,
          .disagreeing = 20'000};
}

/// Holders that fall silent while others wait: where a deadline and a takeover come closest.
scenario silence() {
  scenario s{.name = "silence", .about = "cut off holders, slow answers, clocks at the limit"};
  s.stores = 1;
  s.names = 1;
  s.sessions = 1;
  s.workers = 1;
  s.tries = 0;
  s.bounded = 0;
  s.cancelled = 0;
  s.shared = 0;
  s.late = 80'000;
  s.late_most = 600ms;
  s.timeout_least = 200ms;
  s.timeout_most = 800ms;
  s.ttl_least = 600ms;
  s.ttl_most = 1200ms;
  s.outage_every = 0s;
  s.close_every = 0s;
  s.deny_every = 0s;
  s.cut_every = 2s;
  s.cut_most = 3s;
  s.pause_every = 4s;
  s.pause_most = 1s;
  s.crash_every = 0s;
  s.crash_step = 0;
  s.hold_most = 3s;
  s.work_every = 20ms;
  s.poll = 50ms;
  return s;
}

/// Clocks that run ten times worse than the protocol declares.
scenario drift_beyond() {
  scenario s = silence();
  s.name = "drift_beyond";
  s.about = "clock rates beyond rho: overlap must be seen";
  s.drift_ppm = 100'000;
  s.drift_is_declared = false;
  return s;
}

/// Requests that come to life after their sender gave up on them.
scenario late_requests() {
  scenario s{.name = "late_requests", .about = "enqueues that apply after their sender gave up"};
  s.late = 150'000;
  s.timeout_least = 30ms;
  s.timeout_most = 100ms;
  s.ttl_least = 5s;
  s.ttl_most = 10s;
  s.crash_every = 0s;
  s.crash_step = 0;
  s.close_every = 0s;
  s.deny_every = 0s;
  s.pause_every = 0s;
  return s;
}

/// Nothing fails and nobody polls: only notifications wake.
scenario wakes() {
  scenario s{.name = "wakes", .about = "no faults, polls so rare that only notifications wake"};
  s.lost = s.late = s.duplicated = s.refused = s.crash_step = s.cancelled = 0;
  s.drift_every = s.pause_every = s.crash_every = s.outage_every = 0s;
  s.cut_every = s.deny_every = s.close_every = 0s;
  s.stores = 1;
  s.names = 1;
  s.ttl_least = 5s;
  s.ttl_most = 10s;
  s.poll = 600s;
  s.tries = 0;
  s.bounded = 0;
  s.shared = 700'000;
  s.hold_most = 3s;
  s.permits = 200'000;
  s.faulty = 1s;
  return s;
}

/// One name used with different modes and different n.
scenario disagreement() {
  scenario s{.name = "disagreement", .about = "one name asked for in modes that do not agree"};
  s.permits = 700'000;
  s.disagreeing = 300'000;
  s.names = 1;
  s.crash_step = 0;
  return s;
}

/// Operators end sessions.
scenario denials() {
  scenario s{.name = "denials", .about = "operators deny sessions that go on beating"};
  s.deny_every = 3s;
  s.cut_every = 0s;
  s.crash_every = 0s;
  s.hold_most = 6s;
  return s;
}

/// Processes that die between any two steps, with their replacements at once in their place.
scenario crashes() {
  scenario s{.name = "crashes", .about = "processes die between any two steps"};
  s.crash_step = 20'000;
  s.crash_every = 4s;
  s.processes = 6;
  s.hosts = 2;
  return s;
}

/// Holders that fall silent or die while nobody waits for them: every record of the dead goes, and
/// none too early.
scenario patrols() {
  scenario s = silence();
  s.name = "patrols";
  s.about = "sessions that look after records of the dead, also of locks that nobody waits for";
  s.patrols = true;
  s.names = 2;
  s.crash_every = 5s;
  s.crash_step = 300;
  s.tries = 500'000;
  return s;
}

const auto& table() {
  static const std::array<scenario, 9> all{mixed(),         drift_beyond(), silence(),
                                           late_requests(), wakes(),        disagreement(),
                                           denials(),       crashes(),      patrols()};
  return all;
}

}  // namespace

scenario scenario::varied(random& r) const {
  scenario s = *this;
  for (int* chance : {&s.lost, &s.late, &s.duplicated, &s.refused, &s.stale, &s.crash_step}) {
    switch (r.below(4)) {
      case 0:
        *chance = 0;
        break;
      case 1:
        *chance = std::min(*chance * 4, 300'000);
        break;
      default:
        break;
    }
  }
  for (duration* every : {&s.pause_every, &s.crash_every, &s.outage_every, &s.cut_every,
                          &s.deny_every, &s.close_every}) {
    switch (r.below(4)) {
      case 0:
        *every = duration::zero();
        break;
      case 1:
        *every /= 3;
        break;
      default:
        break;
    }
  }
  if (r.below(3) == 0) s.hold_most *= 3;
  if (r.below(3) == 0) s.ttl_least = s.ttl_most;
  s.hosts = r.between(1, s.hosts);
  s.processes = r.between(2, s.processes);
  return s;
}

std::span<const scenario> scenarios() { return table(); }

std::optional<scenario> find_scenario(std::string_view name) {
  for (const scenario& s : table()) {
    if (s.name == name) return s;
  }
  return std::nullopt;
}

}  // namespace holdfast::sim
