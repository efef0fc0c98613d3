#pragma once

#include "io/net/node_address.hpp"
#include "io/net/tls_source.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::io {

class loop;

/// One connection to a server, over TCP or a unix socket, encrypted or not.
///
/// What is appended on the loop's thread leaves in one write when the turn of the loop ends, or as
/// soon as it is a lot, so that in a long turn the server works, too; what other threads append
/// leaves at once, from that thread, together with all that others appended while it wrote. So a
/// single caller pays for no change of threads, and many share their writes.
///
/// Lives until its last event has run. Thread safety: append(), flush() and the counters from any
/// thread, start() and close() on the loop's thread.
class stream {
 public:
  struct target {
    node_address address{};
    std::shared_ptr<tls_source> tls{};  ///< Null: not encrypted.
    duration silence_max{};    ///< After this long without a sign of the peer's host it is lost.
    duration connect_limit{};  ///< See late() and names_hang().
    /// How often it is asked whether the name still leads there; it is lost when not.
    duration name_every{std::chrono::seconds{30}};
    unsigned attempt{};  ///< Chooses which of a name's addresses is tried first.
  };

  /// Some hundred commands: work for the server until the turn is over. Redis reads 16 KiB at once.
  static constexpr std::size_t worth_sending = 24 * 1024;

  /// Hears of the events, always on the loop's thread.
  class listener {
   public:
    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    virtual ~listener() = default;
    /// Connected, and encrypted if asked for.
    virtual void opened() = 0;
    /// The system's resolver has not answered for half of `connect_limit`; told again after each
    /// further half. Its answer is waited for.
    virtual void names_hang(const std::string& why) = 0;
    /// `connect_limit` has passed since there were addresses to connect to, opened or not.
    virtual void late() = 0;
    /// Where to receive; never empty.
    virtual std::span<char> space() = 0;
    virtual void received(std::size_t count) = 0;
    /// A turn in which something was flushed is over: what is appended now leaves with it.
    virtual void turn_ends() {}
    /// The end, told once; nothing follows. Not told after close().
    virtual void lost(const error& why) = 0;
  };

  struct counters {
    std::atomic<std::uint64_t> writes{};  ///< System calls that sent something.
    std::atomic<std::uint64_t> reads{};   ///< Events that received something.
  };

  /// The loop must outlive every call.
  static std::shared_ptr<stream> make(const std::shared_ptr<loop>& l, target to,
                                      std::weak_ptr<listener> its_listener,
                                      std::shared_ptr<counters> count);
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  /// Starts to connect.
  void start(const std::shared_ptr<loop>& l);
  /// No event follows. Bytes that the kernel has taken are still sent.
  void close();

  /// Queues bytes behind all others; the place of the first one in the stream. Nothing is sent
  /// before opened().
  std::uint64_t append(std::string_view bytes);
  /// The same, for all of a buffer, which is empty afterwards and may be another one.
  std::uint64_t append_all(std::string& bytes);
  void flush();

  /// The place of what is appended next.
  std::uint64_t appended() const;
  /// The peer has seen nothing from this place on.
  std::uint64_t handed() const;
  /// How many bytes the kernel has not taken yet.
  std::size_t backlog() const noexcept;

 private:
  class state;
  explicit stream(std::shared_ptr<state> s) noexcept;
  std::shared_ptr<state> state_;
};

}  // namespace holdfast::io
