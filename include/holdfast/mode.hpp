#pragma once

#include <holdfast/export.hpp>

#include <cstdint>
#include <string>

namespace holdfast {

/// Who may hold a lock at the same time: one, many readers, or up to n.
///
/// Row: the mode that arrives; column: the modes that are there, held or waiting. Refused is
/// `mode_conflict`, and so are permits of another n.
///
/// |            | exclusive | shared   | permits(n)                   |
/// |------------|-----------|----------|------------------------------|
/// | exclusive  | waits     | waits    | refused                      |
/// | shared     | waits     | together | refused                      |
/// | permits(n) | refused   | refused  | together up to n; or refused |
///
/// A shared arrival waits behind an exclusive waiter, so writers are not starved: grants follow
/// the order of arrival. Redlock has neither that order nor another mode than exclusive: the others
/// are `unsupported` there.
///
/// A held lock keeps its mode. To go from shared to exclusive, release it, acquire it anew, and
/// look again at what was read: another may have been granted in between. To wait for the
/// exclusive one while a second session holds the shared one is to wait for oneself.
///
/// Thread safety: as a plain value.
class HOLDFAST_EXPORT mode {
 public:
  /// The largest n of permits(n); as many may hold or await one name, in any mode.
  static constexpr std::uint32_t permits_max = 10'000;

  /// One holder alone. The default.
  static constexpr mode exclusive() noexcept { return mode(kind_t::exclusive, 1); }
  /// Together with other shared holders, never with an exclusive one.
  static constexpr mode shared() noexcept { return mode(kind_t::shared, 1); }
  /// One of at most `n` holders. Zero, or more than `permits_max`, is refused by acquire with
  /// `invalid_argument`; an `n` that differs from the one its live holders and waiters gave, with
  /// `mode_conflict`.
  static constexpr mode permits(std::uint32_t n) noexcept { return mode(kind_t::permits, n); }

  // Exactly one of the three is true.
  constexpr bool is_exclusive() const noexcept { return kind_ == kind_t::exclusive; }
  constexpr bool is_shared() const noexcept { return kind_ == kind_t::shared; }
  constexpr bool is_permits() const noexcept { return kind_ == kind_t::permits; }
  /// The n of permits(n); 1 for the other modes.
  constexpr std::uint32_t limit() const noexcept { return limit_; }
  /// "exclusive", "shared" or "permits(3)": as in messages and in `holdfast ls`.
  std::string str() const;

  friend constexpr bool operator==(const mode&, const mode&) = default;

 private:
  enum class kind_t : std::uint8_t { exclusive, shared, permits };
  constexpr mode(kind_t k, std::uint32_t n) noexcept : kind_(k), limit_(n) {}
  kind_t kind_;
  std::uint32_t limit_;
};

}  // namespace holdfast
