#pragma once

#include "wire/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::wire {

/// What a server may send before its connection is given up. The replies of locks are small; what
/// is larger is INFO, a listing, or an attack.
struct resp_limits {
  std::size_t line_bytes{64 * 1024};   ///< A status, an error, a double, a big number.
  std::size_t bulk_bytes{512 * 1024};  ///< The length of one bulk string that is kept.
  /// Of one that is read and not kept; a server stores none that is longer.
  std::size_t dropped_bytes{512 * 1024 * 1024};
  std::size_t elements{64 * 1024};         ///< Of one aggregate; a map's pair counts as two.
  std::size_t depth{16};                   ///< Aggregates inside each other.
  std::size_t message_bytes{1024 * 1024};  ///< All of one message that is kept; attributes count.
  std::size_t unread_bytes{1024 * 1024};   ///< Received, and not yet taken with next().
};

/// Why a stream cannot be read any further.
struct resp_failure {
  std::uint64_t at{};   ///< The byte at fault, counted from 0 at the start of the connection.
  std::string message;  ///< What was wrong with it, `at` included. Never the server's text.
};

/// Takes the bytes of one connection in any pieces and gives whole messages: RESP2 and RESP3
/// without streamed types
/// (https://github.com/redis/redis-specifications/blob/master/protocol/RESP3.md).
///
/// Stricter than the specification where leniency only helps an attacker: no CR or LF inside of a
/// line, a push only between messages, no number outside of 64 bits. Attributes are checked and
/// left out: no command of this library asks for any.
///
/// A string that is too long to be kept is `too_long` in its message, and the stream goes on:
/// whoever stores one under a name of ours ends nobody's connection.
///
/// Memory follows the bytes that came, never a length that was announced: one message, with at most
/// one `reply` for each 3 bytes of it, and the unread input. Each byte is looked at a fixed number
/// of times, however small the pieces are. Nothing here recurses, so depth costs no stack.
///
///     while (auto n = read(fd, reader.space(16384))) {
///       reader.received(n);
///       while (const reply* r = reader.next()) answer(*r);
///       if (reader.failure()) close(fd);
///     }
class resp_reader {
 public:
  explicit resp_reader(const resp_limits& limits = {});
  // The message under construction is pointed into.
  resp_reader(const resp_reader&) = delete;
  resp_reader& operator=(const resp_reader&) = delete;

  /// Where the next bytes may be received: up to `wanted`, fewer near `unread_bytes`. Empty when
  /// next() must be called first, and after a failure. Valid until the next call of any other kind.
  std::span<char> space(std::size_t wanted);
  /// The first `count` bytes of space() were filled.
  void received(std::size_t count);
  /// Copies bytes in. More than fit into `unread_bytes` is a failure.
  void feed(std::string_view bytes);

  /// The next whole message, valid until the next call of this; or null: more bytes are needed, or
  /// see failure(). The memory of a small message is used again for the next one, so copy it, do
  /// not move it, unless it is kept anyway.
  reply* next();

  /// Set once and for good: what follows in the stream has no meaning any more.
  const resp_failure* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }

 private:
  enum class step : std::uint8_t {
    stuck,  ///< More bytes are needed, or the stream failed.
    going,  ///< Something was read, no element was completed.
    whole,  ///< An element is complete.
  };
  /// An aggregate whose elements are still coming.
  struct open_aggregate {
    reply* node;
    std::size_t missing;
    bool is_attribute;
  };

  std::size_t unread() const noexcept { return end_ - begin_; }
  void start();
  void clear_message();
  bool read_short();
  step read_element();
  step read_line_of_text(reply_kind kind);
  step read_integer();
  step read_null();
  step read_boolean();
  step read_real();
  step read_big_number();
  step read_bulk(char type);
  step read_bulk_bytes();
  step read_aggregate(char type);
  step open(char type, std::size_t count, std::size_t head_bytes);
  bool complete_element();

  std::optional<std::string_view> line(std::size_t bytes_max);
  std::optional<std::int64_t> length_in(std::string_view text, char type);
  reply& add(reply_kind kind);
  void consume(std::size_t count) noexcept;
  bool fits(std::uint64_t more_bytes, const char* what);
  [[gnu::cold]] step fail(std::size_t position, std::string_view why);

  const resp_limits limits_;
  std::vector<char> buffer_;
  std::size_t begin_{0};       ///< Of the unread bytes in buffer_.
  std::size_t end_{0};         ///< Of the unread bytes in buffer_.
  std::size_t scanned_{0};     ///< Unread bytes that are known to hold no line end.
  std::uint64_t consumed_{0};  ///< The place of begin_ in the stream.
  /// The place in the stream at which message_ began, as if nothing of it had been dropped.
  std::uint64_t message_at_{0};

  reply message_;
  bool started_{false};
  bool is_short_{false};  ///< message_ is of read_short(): no number, no elements.
  std::vector<open_aggregate> open_;
  reply* bulk_{nullptr};  ///< The string whose bytes are coming.
  std::size_t bulk_missing_{0};
  bool bulk_is_verbatim_{false};
  std::optional<resp_failure> failure_;
};

}  // namespace holdfast::wire
