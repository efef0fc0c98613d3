#pragma once

#include "io/net/stream.hpp"
#include "io/redis/command_counts.hpp"
#include "io/redis/redis_batch.hpp"
#include "io/redis/redis_connection.hpp"
#include "io/redis/redis_outbox.hpp"
#include "io/redis/redis_requests.hpp"
#include "io/thread/mutex.hpp"

#include <holdfast/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::io {

/// The commands of all threads on one connection, and who is owed which answer: in the stream and
/// among those that are owed an answer, all stand in the order in which they were sent.
///
/// The loop's thread needs no mutex for most of what it sends: that gathers in an outbox until the
/// turn ends, or the outbox is long. What others send meanwhile gathers behind it, and else goes
/// into the stream at once.
///
/// Thread safety: send_elsewhere(), the counts and backlog() from any thread; the rest on the
/// loop's, which alone opens and ends it.
class redis_pipeline {
 public:
  using command = redis_connection::command;
  struct limits {
    std::size_t queued_bytes{};  ///< Not taken by the kernel yet.
    std::size_t unanswered{};
  };
  enum class taking : std::uint8_t {
    taken,
    closed,  ///< There is no stream.
    full,    ///< Too much is waiting already.
  };

  explicit redis_pipeline(const limits& l) noexcept : limits_(l) {}

  /// From now on commands are taken, for this stream.
  void open(std::shared_ptr<stream> to);
  /// Takes no more, and gives all that are owed an answer, oldest first. The stream was closed, and
  /// the peer has seen nothing of it from `handed` on; nor of what never got to it, whose place is
  /// behind that.
  std::vector<redis_request> end(std::uint64_t handed);

  // ---- sending ----

  taking send_elsewhere(const command& c);
  /// Only while it is open.
  taking send_here(const command& c);
  /// What gathered, and what is behind it, gets into the stream, which is to be flushed.
  void empty_outbox();

  // ---- answers ----

  /// Whether the peer owes an answer: not for what has not left yet.
  bool is_owed() {
    if (requests_.empty()) take_inbox_now();
    if (requests_.empty()) return false;
    return outbox_.empty() || requests_.front().place < outbox_.begins_at();
  }
  /// The command whose answer comes next. Only while one is owed, as the next.
  const redis_request& front() const noexcept { return requests_.front(); }
  /// The same, which was answered.
  redis_request take_front() {
    counts_.done(1);
    return requests_.take_front();
  }
  void fetch_ahead() const noexcept { requests_.fetch_ahead(); }

  /// Nothing is owed, and nothing waits to leave.
  bool is_idle() { return outbox_.empty() && !is_owed(); }

  /// Marks what is due as expired and gives it, earliest deadline first.
  std::vector<redis_request> take_due(time_point now);
  /// The earliest deadline of what take_due() has seen; the end of time without one.
  time_point next_deadline() { return requests_.next_deadline(); }

  // ---- how much ----

  std::uint64_t sent() const noexcept { return counts_.sent(); }
  std::size_t unanswered() const noexcept { return counts_.unanswered(); }
  /// Bytes that the kernel has not taken yet.
  std::size_t backlog() const;

 private:
  bool is_full(const command& c, std::size_t queued_bytes) const noexcept;
  void begin_outbox();
  void take_inbox_now();
  void take_inbox() HOLDFAST_REQUIRES(mutex_);

  const limits limits_;

  // The loop's thread only.
  redis_requests requests_;
  redis_outbox outbox_;          ///< Sent in this turn. Emptied under the mutex.
  std::size_t backlog_here_{0};  ///< Of the stream, as the outbox was begun.

  command_counts counts_;
  mutable mutex mutex_;
  std::shared_ptr<stream> stream_;  ///< While open. Changed by the loop's thread only.
  /// Sent, and not seen by the loop's thread yet.
  std::vector<redis_request> inbox_ HOLDFAST_GUARDED_BY(mutex_);
  redis_batch behind_;  ///< Sent by others while the outbox waits: what it has was sent earlier.
};

}  // namespace holdfast::io
