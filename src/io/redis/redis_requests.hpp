#pragma once

#include "io/thread/recycled.hpp"
#include "wire/reply.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::io {

/// What became of a command.
struct redis_answer {
  enum class outcome {
    reply,     ///< The server answered, perhaps with an error.
    not_sent,  ///< The server has not seen it and never will.
    unknown,   ///< It was sent, and no answer came in time or at all.
  };
  outcome what{};
  const wire::reply* reply{};  ///< With `reply`; valid during the call.
  const error* why{};          ///< With the other two; valid during the call.
  time_point at{};             ///< When this was known: for a reply, when its bytes were read.
};

/// Who waits for answers; `tag` is what the sender called its command.
class redis_receiver {
 public:
  redis_receiver() = default;
  redis_receiver(const redis_receiver&) = delete;
  redis_receiver& operator=(const redis_receiver&) = delete;
  virtual ~redis_receiver() = default;
  /// Once for each command that was queued, on the loop's thread.
  virtual void answered(std::uint64_t tag, const redis_answer& a) = 0;
  /// Once for each command whose deadline passed first: its answer, or null when the connection
  /// ended without one.
  virtual void answered_late(std::uint64_t /*tag*/, const wire::reply* /*r*/, time_point /*at*/) {}
};

/// One command that the server owes an answer.
struct redis_request {
  std::shared_ptr<redis_receiver> receiver{};
  std::uint64_t tag{};
  time_point deadline{};
  std::uint64_t place{};  ///< Of its first byte in the stream.
  bool subscribes{};      ///< Answered by a push in RESP3.
  bool expired{};         ///< Its deadline has passed, and the receiver was notified.
  std::uint8_t line{};    ///< Due no earlier than those before it there; set by redis_requests.
};

/// The unanswered commands of a connection, in the order in which they were sent, and by deadline.
/// No timer per command: those with one timeout are due in the order of sending, so they stand in a
/// line, of which the first that waits is the first that is due. Each of the timeouts that are in
/// use at a time has a line of its own; what fits in none is in a heap, which forgets answered ones
/// lazily.
///
/// Thread safety: none; one owner.
class redis_requests {
 public:
  void add(redis_request r) {
    const bool ends = r.deadline != time_point::max();
    r.line = !ends ? no_line : stays_in_line(r.deadline) ? last_line_ : line_for(r.deadline);
    if (r.line != no_line) {
      lines_[r.line].latest = r.deadline;
    } else if (ends) {
      add_early(r.deadline);
    }
    all_.push_back(std::move(r));
  }
  bool empty() const noexcept { return all_.empty(); }
  std::size_t size() const noexcept { return all_.size(); }
  /// The oldest one. Not when empty.
  const redis_request& front() const noexcept { return all_.front(); }
  redis_request take_front();
  /// Has the receiver of a command that is answered soon brought to the processor meanwhile: those
  /// of a thousand commands are in no cache, and each answer would wait for its own.
  void fetch_ahead() const noexcept;

  /// Marks what is due as expired and gives it, earliest deadline first.
  std::vector<redis_request> take_due(time_point now);
  /// The earliest deadline that has not passed; time_point::max() without one.
  time_point next_deadline();
  /// All of them, oldest first; none remain.
  std::vector<redis_request> take_all();

  /// How many deadlines are remembered beside the commands: bounded by their number.
  std::size_t remembered() const noexcept { return early_.size(); }

 private:
  using due = std::pair<time_point, std::uint64_t>;  ///< With the number of the command.

  /// Locks, heartbeats and looks have a timeout each.
  static constexpr std::uint8_t line_count = 3;
  static constexpr std::uint8_t no_line = line_count;
  struct queue {
    time_point latest{time_point::min()};  ///< The deadline of its last command.
    std::uint64_t looked{0};               ///< Before this number nobody here waits.
  };

  redis_request* waiting(std::uint64_t number) noexcept;
  /// What line_for() would say, for nearly all.
  bool stays_in_line(time_point deadline) const noexcept {
    return deadline >= lines_[last_line_].latest && deadline < next_above_;
  }
  void add_early(time_point deadline);
  std::uint8_t line_for(time_point deadline) noexcept;
  redis_request* next_due();
  redis_request* first_in(std::uint8_t which) noexcept;
  redis_request* first_early();
  void drop_first_early();
  void forget_answered();

  /// Not in one piece: the memory of what was answered is at hand for what is sent next.
  std::deque<redis_request, recycling<redis_request>> all_;
  std::uint64_t number_{0};  ///< Of all_[0] among all commands.
  std::array<queue, line_count> lines_{};
  std::uint8_t last_line_{0};                 ///< The one that was chosen last.
  time_point next_above_{time_point::min()};  ///< What is due before that still belongs in it.
  std::vector<due> early_;  ///< Of those that are due before the last one of each line.
};

}  // namespace holdfast::io
