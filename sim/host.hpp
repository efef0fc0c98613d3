#pragma once

#include "sim/schedule.hpp"

#include "core/sightings.hpp"

#include <map>
#include <utility>

namespace holdfast::sim {

/// One machine's CLOCK_BOOTTIME: an offset of its own, and a rate that differs from true time by so
/// many parts per million and may change.
class host_clock {
 public:
  host_clock() = default;
  host_clock(duration since_boot, int error_ppm) noexcept : local_(since_boot), ppm_(error_ppm) {}

  time_point read(moment t) const noexcept { return local_ + scale(t - base_, ppm_); }
  /// The first moment at which the clock will show `local`, if its rate stays.
  moment when(time_point local) const noexcept;
  void set_rate(moment t, int error_ppm) noexcept;

 private:
  static duration scale(duration d, int ppm) noexcept {
    constexpr duration::rep million = 1'000'000;
    const auto n = d.count();
    return duration{n + n / million * ppm + n % million * ppm / million};
  }

  moment base_{};
  time_point local_{};
  int ppm_{};
};

/// One machine: a clock, and what its processes leave for the next one.
struct host {
  int index{};
  host_clock clock;
  /// Per store and name: what those noted who did not get the lock.
  std::map<std::pair<int, int>, core::sightings> notes;
};

}  // namespace holdfast::sim
