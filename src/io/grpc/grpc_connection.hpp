#pragma once

#include "io/net/node_address.hpp"
#include "io/net/tls_source.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::io {

class loop;

/// How one call ended.
struct grpc_outcome {
  enum class kind : std::uint8_t {
    answered,  ///< The server said `status`; 0 is success.
    unknown,   ///< Sent, perhaps done, perhaps done later.
    not_sent,  ///< The server has not looked at it and will not.
  };
  kind what{kind::not_sent};
  unsigned status{};           ///< As gRPC numbers them.
  std::string_view message{};  ///< Of a unary call that succeeded.
  std::string_view text{};     ///< Otherwise: why, with the server's name.

  bool succeeded() const noexcept { return what == kind::answered && status == 0; }
};

/// Hears of the state of a connection. On the loop's thread.
class grpc_listener {
 public:
  grpc_listener() = default;
  grpc_listener(const grpc_listener&) = delete;
  grpc_listener& operator=(const grpc_listener&) = delete;
  virtual ~grpc_listener() = default;
  virtual void up() {}
  /// After up(), after each try that failed, and while names are not found out; `timed_out`: nobody
  /// answered to that.
  virtual void down(const error& /*why*/) {}
};

struct grpc_options {
  node_address address{};
  std::string kind{"server"};         ///< What messages call it.
  std::shared_ptr<tls_source> tls{};  ///< Null: plain text. There is no falling back to it.
  duration connect_limit{std::chrono::seconds{2}};  ///< From its addresses to its settings.
  duration silence_max{std::chrono::seconds{5}};    ///< While answers are due; see grpc_silence.
  /// Between tries to connect. It grows until a call was answered: who greets may serve nobody.
  duration pause_first{std::chrono::milliseconds{20}};
  duration pause_most{std::chrono::seconds{2}};
  std::size_t message_max{64 * 1024 * 1024};      ///< A longer one ends its call.
  std::size_t queued_bytes_max{8 * 1024 * 1024};  ///< Not taken by the kernel yet.
  std::size_t calls_max{16 * 1024};
  std::int32_t first_stream{1};  ///< Of each connection; odd. Behind 2^31 - 1 there is none.
};

/// One HTTP/2 connection (RFC 9113) to one gRPC server: unary calls and two-way streams. It
/// connects by itself, and again after it was lost, with growing pauses; while it is down nothing
/// is queued.
///
/// Every outcome is given exactly once, never inside the call that asked for it.
///
/// Thread safety: the loop's thread only, except start(), close() and the destructor.
class grpc_connection {
 public:
  using on_outcome = std::function<void(const grpc_outcome&)>;
  using on_message = std::function<void(std::string_view)>;
  struct request {
    std::string_view path{};
    std::string_view message{};
    std::string_view token{};  ///< Of authentication; empty: none.
  };
  struct counters {
    std::uint64_t calls{};
    std::uint64_t writes{};  ///< System calls.
    std::uint64_t connects{};
  };

  /// Starts to connect. The listener may be null.
  static std::unique_ptr<grpc_connection> start(std::shared_ptr<loop> l, grpc_options options,
                                                std::weak_ptr<grpc_listener> listener);
  grpc_connection(const grpc_connection&) = delete;
  grpc_connection& operator=(const grpc_connection&) = delete;
  ~grpc_connection();

  bool is_up() const noexcept;
  /// Why it is down; nothing while it is up.
  std::optional<error> trouble() const;

  /// One message there, one back.
  void call(const request& r, time_point deadline, on_outcome done);
  /// A stream of messages in both directions; the number is for send() and cancel(). `leader`: the
  /// server is to end it when its cluster has no leader (etcd's `hasleader`).
  std::uint64_t open_stream(const request& first, bool leader, on_message took, on_outcome ended);
  void send(std::uint64_t stream, std::string_view message);
  /// Nothing more is told of it.
  void cancel(std::uint64_t stream);
  counters count() const;

  /// Ends it; calls under way hear of it, on the loop's thread.
  void close();

 private:
  class state;
  grpc_connection(std::shared_ptr<loop> l, std::shared_ptr<state> s) noexcept;
  std::shared_ptr<loop> loop_;
  std::shared_ptr<state> state_;
};

}  // namespace holdfast::io
