#pragma once

#include <holdfast/fence.hpp>
#include <holdfast/token.hpp>

#include <cstdint>
#include <map>

namespace holdfast::fencing {

/// How a token is compared. Permits are exclusive at the fence of their slot.
enum class sharing : std::uint8_t { exclusive, shared };

inline sharing sharing_of(mode how) noexcept {
  return how.is_shared() ? sharing::shared : sharing::exclusive;
}

/// What was admitted: all that has to survive. Both only grow.
struct floors {
  token floor;   ///< The newest exclusive token or raise: older ones are refused.
  token newest;  ///< Of all modes, never below the floor: older exclusive ones are refused.

  bool is_stale(token t, sharing how) const noexcept {
    return t < (how == sharing::exclusive ? newest : floor);
  }
  /// After `t`, which is not stale, was admitted.
  floors with(token t, sharing how) const noexcept;
  /// Nothing is below what was in either.
  floors merged(const floors& other) const noexcept;

  friend bool operator==(const floors&, const floors&) = default;
};

/// The passes of one fence in one process, and who has to wait for whom. Pure: no time, no
/// threads.
///
/// | operation         | in words                                                           |
/// |-------------------|--------------------------------------------------------------------|
/// | arrived(t, how)   | t was admitted by the floors: older passes end, or become invalid  |
/// | must_wait(t, how) | an older pass is still in the way of t                             |
/// | open, close       | a pass begins and ends                                             |
/// | begin_commit      | false when the pass is invalid; else newer ones wait for the end   |
class gate_machine {
 public:
  explicit gate_machine(older_passes policy) noexcept : policy_(policy) {}

  void arrived(token t, sharing how) noexcept;
  bool must_wait(token t, sharing how) const noexcept;

  /// The number of the new pass; t has arrived, is not stale and need not wait.
  std::uint64_t open(token t, sharing how);
  void close(std::uint64_t id) noexcept;
  bool valid(std::uint64_t id) const noexcept;
  bool begin_commit(std::uint64_t id) noexcept;
  void end_commit(std::uint64_t id) noexcept;

  /// How many passes of this kind are open.
  std::size_t count(sharing how) const noexcept;

 private:
  struct open_pass {
    token value;
    sharing how;
    bool valid{true};
    std::uint32_t commits{};  ///< One may be begun inside another.
  };
  static bool in_the_way(const open_pass& p, token t, sharing how) noexcept {
    return p.value < t && (how == sharing::exclusive || p.how == sharing::exclusive);
  }

  older_passes policy_;
  std::uint64_t last_{};
  std::map<std::uint64_t, open_pass> passes_;
};

}  // namespace holdfast::fencing
