#pragma once

#include "io/net/node_address.hpp"
#include "io/net/tls_source.hpp"
#include "io/redis/redis_handshake.hpp"
#include "io/redis/redis_requests.hpp"
#include "wire/resp_reader.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::io {

class loop;

/// Hears of the state of a connection and of what nobody asked for. Always on the loop's
/// thread, never under a mutex.
class redis_listener {
 public:
  redis_listener() = default;
  redis_listener(const redis_listener&) = delete;
  redis_listener& operator=(const redis_listener&) = delete;
  virtual ~redis_listener() = default;
  /// Before the connection is used for anything else: a failure refuses this server, and it is
  /// asked again after a pause, for it may have been replaced.
  virtual result<void> check(const redis_facts& /*facts*/) { return {}; }
  virtual void up(const redis_facts& /*facts*/) {}
  /// After up(), after each try that failed, and while the name's address is not found out.
  virtual void down(const error& /*why*/) {}
  /// Around the answers that came together and are given one after the other.
  virtual void answers_begin() {}
  virtual void answers_end() {}
  /// A push of RESP3, or a message of a channel in RESP2.
  virtual void pushed(const wire::reply& /*message*/) {}
};

struct redis_options {
  node_address address{};
  redis_login login{};
  std::shared_ptr<tls_source> tls{};  ///< Null: plain text. There is no falling back to it.
  /// From the addresses of the name to the end of the handshake.
  duration connect_limit{std::chrono::seconds{2}};
  duration silence_max{std::chrono::seconds{10}};       ///< Without any answer while some are due.
  duration pause_first{std::chrono::milliseconds{10}};  ///< Between tries to connect; it grows.
  duration pause_most{std::chrono::seconds{2}};
  /// Between a connection that was up and the next one. It grows while none is up for `lasting`,
  /// but not to where a short ttl would be over.
  duration pause_after_up_most{std::chrono::milliseconds{250}};
  duration lasting{std::chrono::seconds{1}};
  std::size_t queued_bytes_max{4 * 1024 * 1024};  ///< Not taken by the kernel yet.
  std::size_t unanswered_max{64 * 1024};
  wire::resp_limits reply_limits{};
};

/// The one connection to one Redis server that everything of a store shares: what is sent first is
/// executed first, so a release that is sent after its SET never overtakes it.
///
/// Commands of one turn of the loop leave in one write, or in a few when they are many. It connects
/// by itself, in the background, and again after it was lost, with growing pauses; while it is down
/// nothing is queued.
///
/// A command is given bytes (wire::resp_writer) for exactly one command, with exactly one answer.
///
/// Thread safety: every function, from any thread.
class redis_connection {
 public:
  struct command {
    std::string_view bytes{};
    time_point deadline{time_point::max()};
    std::shared_ptr<redis_receiver> receiver{};
    std::uint64_t tag{};
    /// SUBSCRIBE or UNSUBSCRIBE of one channel: RESP3 answers it by a push, which is given to the
    /// receiver and not to the listener.
    bool subscribes{};
    /// What begins something gets half of the limits. What ends or keeps what is there already, and
    /// so comes in a bounded number, may fill them: a renewal finds room behind any number of
    /// acquires, and on redlock:// a release behind whatever it releases.
    bool may_fill{};
  };

  struct counters {
    std::uint64_t commands{};
    std::uint64_t writes{};    ///< System calls.
    std::uint64_t reads{};     ///< System calls that received something.
    std::uint64_t connects{};  ///< How often it came up.
    std::size_t unanswered{};
    std::size_t queued_bytes{};
  };

  /// Starts to connect. The listener may be null.
  static std::unique_ptr<redis_connection> start(std::shared_ptr<loop> l, redis_options options,
                                                 std::weak_ptr<redis_listener> listener);
  redis_connection(const redis_connection&) = delete;
  redis_connection& operator=(const redis_connection&) = delete;
  /// close() without waiting.
  ~redis_connection();

  /// Queues a command; its receiver gets the outcome, perhaps before this returns. A failure
  /// means that nothing was sent and that the receiver gets nothing.
  /// Memory that ends here ends the process: a command of which only a part was kept would give all
  /// later answers to the wrong commands, and so locks to who has none.
  /// Errors: `unavailable`: down, closed, or too much is waiting already.
  result<void> send(const command& c) noexcept;

  bool is_up() const noexcept;
  /// Why it is down; nothing while it is up.
  std::optional<error> trouble() const;

  /// Refuses new commands, gives what was queued until `limit` to be sent and answered, and ends
  /// the connection. Waits for that, but not on a thread of the library.
  void close(duration limit);

  counters count() const;

 private:
  class state;
  redis_connection(std::shared_ptr<loop> l, std::shared_ptr<state> s) noexcept;
  std::shared_ptr<loop> loop_;
  std::shared_ptr<state> state_;
};

}  // namespace holdfast::io
