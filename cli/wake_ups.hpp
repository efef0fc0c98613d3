#pragma once

#include <holdfast/clock.hpp>

#include <optional>

namespace holdfast::cli {

class guardian_link;
class run_events;

/// What the wrapper sleeps for: the library's events, the signals, and its guardian.
class wake_ups {
 public:
  enum class from { everything, events };

  /// `signals`: a signalfd that does not block. All of it has to stay there for as long as this.
  wake_ups(run_events& events, int signals, const guardian_link& guardian) noexcept
      : events_(events), signals_(signals), guardian_(guardian) {}

  void wait(duration limit, from what = from::everything);
  /// The next one that has come.
  std::optional<int> next_signal();

 private:
  run_events& events_;
  int signals_;
  const guardian_link& guardian_;
};

}  // namespace holdfast::cli
