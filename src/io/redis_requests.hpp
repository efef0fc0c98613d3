#pragma once

#include "io/recycled.hpp"
#include "wire/reply.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

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
  bool expired{};         ///< Its deadline has passed, and the receiver was told.
  bool in_line{};         ///< Due no earlier than those in line before it; set by redis_requests.
};

/// The unanswered commands of a connection, in the order in which they were sent, and by deadline.
/// No timer per command: nearly all are due in the order of sending, so the first that waits is the
/// first that is due. A heap has the others, and forgets answered ones lazily.
///
/// Thread safety: none; one owner.
class redis_requests {
 public:
  void add(redis_request&& r);
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

  redis_request* waiting(std::uint64_t number) noexcept;
  redis_request* next_due();
  redis_request* first_in_line() noexcept;
  redis_request* first_early();
  void drop_first_early();
  void forget_answered();

  /// Not in one piece: the memory of what was answered is at hand for what is sent next.
  std::deque<redis_request, recycling<redis_request>> all_;
  std::uint64_t number_{0};  ///< Of all_[0] among all commands.
  time_point latest_{};      ///< The deadline of the last one in line.
  std::uint64_t looked_{0};  ///< Before this number nobody in line waits for a deadline.
  std::vector<due> early_;   ///< Of those that are due before one in line that was sent earlier.
};

}  // namespace holdfast::io
