#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::wire {

/// \file
/// Messages of a gRPC stream: a flag byte, the length as four bytes, the message. See "gRPC over
/// HTTP2", Length-Prefixed-Message.

/// Appends one message, not compressed.
void put_grpc_message(std::string& out, std::string_view message);

/// Cuts the bytes of one stream into messages. Holds at most one message that is not complete.
class grpc_reader {
 public:
  explicit grpc_reader(std::size_t message_max) noexcept : message_max_(message_max) {}

  void feed(std::string_view bytes);
  /// The next whole message, good until the next call of a function of this object.
  std::optional<std::string_view> next();
  /// Why no further message will come: it is compressed, or longer than allowed. Null while good.
  const char* failure() const noexcept { return failure_; }
  /// True when nothing is left that has not been taken.
  bool empty() const noexcept { return at_ == bytes_.size(); }

 private:
  std::size_t message_max_;
  std::string bytes_;
  std::size_t at_{};
  const char* failure_{};
};

/// The text of a grpc-message header, where bytes are percent-encoded; at most `most` bytes of it,
/// with control characters replaced.
std::string grpc_text(std::string_view header, std::size_t most = 512);

/// The number of a grpc-status header; nothing when it is none.
std::optional<unsigned> grpc_status(std::string_view header) noexcept;

}  // namespace holdfast::wire
