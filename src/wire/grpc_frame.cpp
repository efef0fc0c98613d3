#include "wire/grpc_frame.hpp"

#include "core/control_character.hpp"
#include "core/hexadecimal.hpp"
#include "core/whole_number.hpp"

namespace holdfast::wire {

namespace {

constexpr std::size_t prefix_bytes = 5;

}  // namespace

void put_grpc_message(std::string& out, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  out += '\0';
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(size >> shift);
  out += message;
}

void grpc_reader::feed(std::string_view bytes) {
  if (failure_ != nullptr) return;
  // Mostly all has been taken, and then nothing has to be moved.
  if (at_ == bytes_.size()) {
    bytes_.clear();
  } else if (at_ > 0) {
    bytes_.erase(0, at_);
  }
  at_ = 0;
  bytes_ += bytes;
}

std::optional<std::string_view> grpc_reader::next() {
  if (failure_ != nullptr) return {};
  const std::string_view rest = std::string_view(bytes_).substr(at_);
  if (rest.size() < prefix_bytes) return {};
  // The call names no compression that it takes, so no server may use one.
  if (rest[0] != '\0') {
    failure_ = "it sent a compressed message, which was not asked for";
    return {};
  }
  std::size_t size = 0;
  for (std::size_t i = 1; i < prefix_bytes; ++i) {
    size = size << 8U | static_cast<std::uint8_t>(rest[i]);
  }
  if (size > message_max_) {
    failure_ = "it sent a message that is longer than allowed";
    return {};
  }
  if (rest.size() - prefix_bytes < size) return {};
  at_ += prefix_bytes + size;
  return rest.substr(prefix_bytes, size);
}

std::string grpc_text(std::string_view header, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < header.size() && text.size() < most; ++i) {
    char c = header[i];
    const bool has_two = c == '%' && i + 2 < header.size();
    const auto high = has_two ? core::digit_value(header[i + 1]) : std::nullopt;
    const auto low = has_two ? core::digit_value(header[i + 2]) : std::nullopt;
    if (high && low) {
      c = static_cast<char>(*high * 16 + *low);
      i += 2;
    }
    text += core::is_control(static_cast<unsigned char>(c)) ? '?' : c;
  }
  return text;
}

std::optional<unsigned> grpc_status(std::string_view header) noexcept {
  const auto value = core::whole_number<unsigned>(header);
  return value && *value <= 1000 ? value : std::nullopt;
}

}  // namespace holdfast::wire
