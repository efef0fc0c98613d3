#pragma once

#include <holdfast/fenced_log.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>

namespace holdfast::fencing {

/// One call of a writer, on the stack of its caller until it is done.
struct pending_call {
  enum class kind : std::uint8_t { append, sync, other };
  kind what{kind::append};
  survives needed{survives::kill};
  std::span<const std::byte> record{};
  /// For kind::other: runs alone, between appends.
  std::function<void()> body{};

  record_number number{};  ///< Of an append that was acknowledged.
  std::optional<error> failed{};
  std::exception_ptr thrown{};  ///< By whoever served it; its own thread throws it on.

  enum class turn : std::uint32_t { waits, leads, done };
  std::atomic<turn> state{turn::waits};
  pending_call* older{};  ///< In line before it.
  pending_call* newer{};  ///< Behind it; known once a leader has looked.
};

/// Calls that are served together, the oldest first.
class call_group {
 public:
  static constexpr std::size_t calls_max = 64;
  std::span<pending_call* const> calls() const noexcept { return std::span(calls_).first(count_); }

 private:
  friend class append_queue;
  std::array<pending_call*, calls_max> calls_;
  std::size_t count_{};
};

/// The callers of one writer in the order in which they came. The first leads: it serves everybody
/// who stands in line at that moment, then lets the next lead. So one write and one sync are shared
/// by as many as wait for them, and a lone caller pays two compare-and-swaps and no lock.
///
/// Thread safety: enter() and wait() from any thread, gather() and leave() by the leader.
class append_queue {
 public:
  /// True: the caller leads.
  bool enter(pending_call& mine) noexcept;
  /// True: the caller leads now. False: another leader has done it.
  bool wait(pending_call& mine) const noexcept;
  /// Those in line, the leader first; no more records than `bytes_max` and one.
  void gather(pending_call& leader, std::size_t bytes_max, call_group& into) noexcept;
  /// All of the group are done; only `own` may be touched afterwards. The first of those behind, if
  /// there are any: with `go_on` the caller goes on to lead them, else that one leads.
  pending_call* leave(const call_group& group, const pending_call& own, bool go_on) noexcept;

 private:
  std::atomic<pending_call*> newest_{};
};

}  // namespace holdfast::fencing
