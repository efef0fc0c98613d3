#pragma once

#include "io/grpc/grpc_connection.hpp"
#include "wire/grpc_frame.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::io {

/// One call of a grpc_connection, unary or a stream, until it has ended.
struct grpc_call {
  static constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

  explicit grpc_call(std::size_t message_max) : in(message_max) {}

  /// The next bytes of `out`; `ends`: the last ones; `waits`: none yet.
  std::size_t take_body(std::span<std::uint8_t> room, bool& ends, bool& waits);
  void take_header(std::string_view name, std::string_view value);
  /// Tells how its stream ended; `server` begins what is said to people.
  void end(bool refused, const std::string& server) const;
  /// Tells that it has no answer, and why.
  void tell(grpc_outcome::kind what, const std::string& why) const;

  std::uint64_t id{};
  grpc_connection::on_outcome done{};
  grpc_connection::on_message took{};  ///< Null: unary.
  std::string out{};
  std::size_t out_at{};
  bool half_closes{true};
  bool deferred{};  ///< HTTP/2 waits for more of `out`.
  wire::grpc_reader in;
  std::string message{};  ///< Unary: the answer.
  bool has_message{};
  unsigned http_status{};
  std::optional<unsigned> status{};
  std::string text{};
  std::uint64_t place{nowhere};  ///< Of its first byte in the connection.
  time_point deadline{time_point::max()};
};

/// How a call's time is written in its head.
std::string grpc_timeout(duration left);

}  // namespace holdfast::io
