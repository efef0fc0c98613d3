#pragma once

#include <holdfast/clock.hpp>

#include <chrono>
#include <cstdint>

namespace holdfast::core::redlock {

/// Whether who asks for a lock again and again still sees whether it is held. Pure.
///
/// | state   | a round reaches enough nodes | one does not                                       |
/// |---------|------------------------------|----------------------------------------------------|
/// | unknown | clear                        | blind                                              |
/// | clear   | clear                        | doubtful; blind when a majority is not connected   |
/// | doubtful| clear                        | the same; blind after `rounds` in a row, for `time`|
/// | blind   | clear                        | blind                                              |
///
/// A round may fail on nodes that are all well: it has a node timeout of a few milliseconds, and a
/// busy machine keeps a process or a node waiting for longer.
///
/// Thread safety: none; one owner.
class visibility {
 public:
  enum class state : std::uint8_t { unknown, clear, doubtful, blind };
  static constexpr int rounds = 3;
  static constexpr duration time = std::chrono::milliseconds{500};

  void reached() noexcept { is_ = state::clear; }
  /// `cut_off`: it is known that no round can reach enough nodes now.
  void missed(bool cut_off, time_point now) noexcept {
    if (is_ == state::clear) {
      is_ = state::doubtful;
      missed_ = 0;
      since_ = now;
    }
    ++missed_;
    const bool long_enough = missed_ >= rounds && now - since_ >= time;
    if (is_ == state::unknown || cut_off || long_enough) is_ = state::blind;
  }
  state current() const noexcept { return is_; }

 private:
  state is_{state::unknown};
  int missed_{};        ///< In a row, while it is doubtful.
  time_point since_{};  ///< When the first of them ended.
};

}  // namespace holdfast::core::redlock
