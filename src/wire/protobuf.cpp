#include "wire/protobuf.hpp"

namespace holdfast::wire {

namespace {

// Wire types.
constexpr unsigned varint_type = 0;
constexpr unsigned fixed64_type = 1;
constexpr unsigned length_type = 2;
constexpr unsigned fixed32_type = 5;

constexpr unsigned field_id_max = (1U << 29U) - 1;

}  // namespace

void proto_writer::varint(std::uint64_t value) {
  for (; value > 0x7f; value >>= 7U) out_ += static_cast<char>((value & 0x7fU) | 0x80U);
  out_ += static_cast<char>(value);
}

void proto_writer::number(unsigned field, std::uint64_t value) {
  if (value == 0) return;
  key(field, varint_type);
  varint(value);
}

void proto_writer::chosen_number(unsigned field, std::int64_t value) {
  key(field, varint_type);
  varint(static_cast<std::uint64_t>(value));
}

void proto_writer::text(unsigned field, std::string_view value) {
  if (!value.empty()) message(field, value);
}

void proto_writer::message(unsigned field, std::string_view value) {
  key(field, length_type);
  varint(value.size());
  out_ += value;
}

bool proto_reader::fail() noexcept {
  good_ = false;
  rest_ = {};
  return false;
}

bool proto_reader::varint(std::uint64_t& value) noexcept {
  value = 0;
  // Ten bytes are the longest there is.
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return fail();
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return fail();
}

bool proto_reader::skip(std::size_t count) noexcept {
  if (rest_.size() < count) return fail();
  rest_.remove_prefix(count);
  return true;
}

bool proto_reader::next(field& f) noexcept {
  while (!rest_.empty()) {
    std::uint64_t key = 0;
    if (!varint(key)) return false;
    if (key >> 3U == 0 || key >> 3U > field_id_max) return fail();
    f.id = static_cast<unsigned>(key >> 3U);
    switch (key & 7U) {
      case varint_type:
        f.what = kind::number;
        f.bytes = {};
        return varint(f.number);
      case length_type: {
        std::uint64_t size = 0;
        if (!varint(size)) return false;
        if (size > rest_.size()) return fail();
        f.what = kind::bytes;
        f.number = 0;
        f.bytes = rest_.substr(0, static_cast<std::size_t>(size));
        return skip(static_cast<std::size_t>(size));
      }
      case fixed64_type:
        if (!skip(8)) return false;
        break;
      case fixed32_type:
        if (!skip(4)) return false;
        break;
      default:
        return fail();
    }
  }
  return false;
}

}  // namespace holdfast::wire
