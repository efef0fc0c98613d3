#pragma once

#include "core/engine.hpp"
#include "core/lease.hpp"

#include <holdfast/observer.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::core {

/// The session is over for good, and every lock of it is lost.
constexpr bool is_final(session_state s) noexcept {
  return s != session_state::attached && s != session_state::endangered;
}

/// Keeps one session alive: when to beat, what a reply proves, when it is over. Pure.
///
/// Its states are session_state's; the table is in holdfast/observer.hpp. Beats are sent every
/// ttl/3 counted from the last send; one that is not answered within ttl/6 is sent again as an
/// attempt of its own, with a send time of its own. Several may be under way.
///
/// The lease is shared with the checks of the session's locks: only this machine extends it.
///
/// Every call returns what to do next. Thread safety: none; calls are serialised by the owner.
class session_machine {
 public:
  struct change {
    session_state to;
    std::string reason;
  };
  struct step {
    std::optional<std::uint64_t> beat{};  ///< Send a beat with this attempt number, now.
    std::optional<change> changed{};      ///< Tell the observer; a final state ends every lock.
    bool remove_record{};                 ///< Delete the own record: close(id, inc), once.
    time_point wake{time_point::max()};   ///< Call tick() then; max when final.
  };

  session_machine(duration ttl, lease& shared) noexcept;

  /// The open was acknowledged; it was sent at `sent`. Starts the lease. When the open took longer
  /// than the lease, the session is expired at once.
  step opened(time_point sent, time_point now);

  /// Time has come, or may have. `trouble`: what is known to be wrong with the store, for the
  /// reason that people read.
  step tick(time_point now, const std::string& trouble = {});

  /// The answer of one attempt. `unavailable` and `unknown` only mean that it proves nothing; their
  /// text is shown with the silence when no other trouble is known.
  step beat_answered(std::uint64_t attempt, const beat_reply& r, time_point now);

  /// An operation of the session was answered with gone or denied: the session is over. `text` is
  /// the answer's: of a deny it becomes the reason.
  step ended_by_engine(status what, const std::string& text = {});

  /// The owner closes. Loses the lease before anything is sent; one that had ended before, expired.
  /// One that was denied removes the record that it has left, once.
  step close(time_point now);

  session_state state() const noexcept { return state_; }
  bool is_final() const noexcept { return core::is_final(state_); }
  /// For people: why it ended, or is endangered; that with the silence until `now`.
  std::string reason(time_point now) const;
  /// What the newest beat failed with; empty: it did not, or without a text.
  const std::string& refusal() const noexcept { return refusal_; }
  /// For people: for how long no beat was acknowledged, and why as far as it is known.
  std::string silence(time_point now) const;
  /// For people: that tick() came late by ttl/6 or more, as of a process that was stopped, since
  /// the newest acknowledged beat was sent; empty: it did not.
  std::string lateness(time_point now) const;
  duration ttl() const noexcept { return ttl_; }
  /// When the attempt was sent, if it is remembered.
  std::optional<time_point> sent_at(std::uint64_t attempt) const noexcept;

 private:
  /// Attempts are a sixth of the ttl apart or more, so what is forgotten was sent more than a ttl
  /// ago: it could prove no lease that still runs.
  static constexpr std::size_t remembered = 8;
  struct attempt_sent {
    std::uint64_t number{};
    time_point at{};
  };

  /// Of every event, before anything else: how long after due_ it came.
  void note_lateness(time_point now) noexcept;
  duration noted_lateness() const noexcept;
  /// Numbers the attempt and remembers when it was sent: an answer proves that moment.
  step send_beat(time_point now);
  /// The lease has passed or was lost: nobody acts under it any more.
  step expired(time_point now);
  /// When the next beat is due.
  time_point next_send() const noexcept;
  /// A third of the ttl after the oldest unanswered attempt was sent.
  time_point endangered_at() const noexcept;
  /// Loses the lease first, so that no check succeeds behind the change.
  step finish(session_state to, std::string reason);
  /// What follows from the time by itself: in danger or not, and when to be woken.
  step next(time_point now, step s);

  duration ttl_;
  lease& lease_;
  session_state state_{session_state::attached};
  std::string reason_;
  std::string trouble_;
  bool keeps_record_{};  ///< It was denied, and not closed since.
  std::string refusal_;  ///< What the newest answer failed with.
  std::uint64_t attempts_{};
  std::uint64_t proven_{};  ///< The newest attempt that was acknowledged.
  time_point last_sent_{};
  time_point last_proof_{};            ///< Send time of the newest acknowledged attempt.
  time_point due_{time_point::max()};  ///< The newest step's wake.
  duration late_{};                    ///< By how much a call came after that, at most.
  time_point late_until_{};
  std::array<attempt_sent, remembered> sent_{};
};

}  // namespace holdfast::core
