#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::wire {

/// \file
/// The part of the Protocol Buffers encoding that etcd's messages need: varints and
/// length-delimited fields. See "Encoding" in the Protocol Buffers documentation.

/// Appends fields to bytes that somebody else owns. Fields that have their default value are left
/// out, as proto3 does.
class proto_writer {
 public:
  explicit proto_writer(std::string& out) noexcept : out_(out) {}

  void number(unsigned field, std::uint64_t value);
  void signed_number(unsigned field, std::int64_t value) {
    number(field, static_cast<std::uint64_t>(value));
  }
  void text(unsigned field, std::string_view value);
  /// Also when it is empty: the presence of a message says something.
  void message(unsigned field, std::string_view value);
  /// A number that is there though it is zero: a member of a oneof.
  void chosen_number(unsigned field, std::int64_t value);

 private:
  void varint(std::uint64_t value);
  void key(unsigned field, unsigned type) { varint(std::uint64_t{field} << 3U | type); }

  std::string& out_;
};

/// Takes a message apart, field by field, without copying. Fixed-width fields are skipped; groups,
/// field numbers of zero, and lengths beyond the end make it fail.
class proto_reader {
 public:
  enum class kind : std::uint8_t { number, bytes };
  struct field {
    unsigned id{};
    kind what{kind::number};
    std::uint64_t number{};
    std::string_view bytes{};

    bool is_number(unsigned wanted) const noexcept { return id == wanted && what == kind::number; }
    bool is_bytes(unsigned wanted) const noexcept { return id == wanted && what == kind::bytes; }
    std::int64_t as_signed() const noexcept { return static_cast<std::int64_t>(number); }
  };

  explicit proto_reader(std::string_view message) noexcept : rest_(message) {}

  /// False at the end, and when the rest cannot be read; good() tells which.
  bool next(field& f) noexcept;
  bool good() const noexcept { return good_; }

 private:
  bool varint(std::uint64_t& value) noexcept;
  bool skip(std::size_t count) noexcept;
  bool fail() noexcept;

  std::string_view rest_;
  bool good_{true};
};

}  // namespace holdfast::wire
