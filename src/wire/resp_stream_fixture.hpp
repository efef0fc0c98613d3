#pragma once

#include "wire/reply.hpp"
#include "wire/resp_reader.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::wire {

/// Turns bytes into decisions, so that a property's input shrinks to the smallest stream that
/// fails.
class choices {
 public:
  explicit choices(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {}

  bool empty() const noexcept { return at_ == bytes_.size(); }
  std::uint8_t byte() noexcept { return empty() ? std::uint8_t{0} : bytes_[at_++]; }
  std::size_t below(std::size_t count) noexcept { return byte() % count; }
  std::uint64_t word() noexcept {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8U | byte();
    return value;
  }

 private:
  const std::vector<std::uint8_t>& bytes_;
  std::size_t at_{0};
};

/// Which protocol a stream speaks. hiredis 1.0 knows neither attributes nor blob errors.
enum class dialect : std::uint8_t { resp2, resp3, resp3_of_hiredis };

/// Writes random valid messages and keeps what a reader must make of them.
class stream_maker {
 public:
  stream_maker(choices& from, dialect spoken) : from_(from), spoken_(spoken) {}

  const std::string& bytes() const noexcept { return bytes_; }
  const std::vector<reply>& expected() const noexcept { return expected_; }

  void message() {
    const bool is_push = spoken_ != dialect::resp2 && from_.below(8) == 7;
    expected_.push_back(is_push ? aggregate(reply_kind::push, '>', 0) : element(0));
  }

 private:
  static constexpr int depth_max = 5;

  reply element(int depth) {
    using make = reply (stream_maker::*)(int);
    static constexpr make all[] = {
        &stream_maker::null,       &stream_maker::integer, &stream_maker::status,
        &stream_maker::error,      &stream_maker::text,    &stream_maker::array,
        &stream_maker::boolean,    &stream_maker::real,    &stream_maker::big_number,
        &stream_maker::map,        &stream_maker::set,     &stream_maker::verbatim,
        &stream_maker::blob_error,
    };
    if (spoken_ == dialect::resp3 && depth < depth_max && from_.below(16) == 15) attribute(depth);
    // Each dialect has some more at the end of the list.
    const std::size_t known = spoken_ == dialect::resp2              ? 6
                              : spoken_ == dialect::resp3_of_hiredis ? std::size(all) - 1
                                                                     : std::size(all);
    return (this->*all[from_.below(known)])(depth);
  }

  reply null(int) {
    if (spoken_ != dialect::resp2) {
      bytes_ += "_\r\n";
    } else {
      bytes_ += from_.below(2) == 0 ? "$-1\r\n" : "*-1\r\n";
    }
    return {};
  }

  reply integer(int) {
    // Every length of number, both ends of the range among them.
    const auto value = static_cast<std::int64_t>(from_.word()) >> from_.below(64);
    bytes_ += ":" + std::to_string(value) + "\r\n";
    return {.kind = reply_kind::integer, .integer = value};
  }

  std::string any_bytes() {
    std::string made;
    const std::size_t size = from_.below(24) == 23 ? 3000 : from_.below(40);
    for (std::size_t i = 0; i < size; ++i) made += static_cast<char>(from_.byte() + i / 40);
    return made;
  }

  std::string line_bytes() {
    std::string made = any_bytes();
    std::replace(made.begin(), made.end(), '\r', ' ');
    std::replace(made.begin(), made.end(), '\n', ' ');
    return made;
  }

  reply status(int) { return line('+', reply_kind::status, line_bytes()); }
  reply error(int) { return line('-', reply_kind::error, "ERR " + line_bytes()); }

  reply line(char type, reply_kind kind, std::string text) {
    bytes_ += type + text + "\r\n";
    return {.kind = kind, .text = std::move(text)};
  }

  reply bulk(char type, reply_kind kind, const std::string& format) {
    std::string text = any_bytes();
    bytes_ += type + std::to_string(format.size() + text.size()) + "\r\n" + format + text + "\r\n";
    return {.kind = kind, .text = std::move(text)};
  }

  reply text(int) { return bulk('$', reply_kind::text, ""); }
  reply verbatim(int) { return bulk('=', reply_kind::text, "txt:"); }
  reply blob_error(int) { return bulk('!', reply_kind::error, ""); }

  reply boolean(int) {
    const bool yes = from_.below(2) == 1;
    bytes_ += yes ? "#t\r\n" : "#f\r\n";
    return {.kind = reply_kind::boolean, .integer = yes ? 1 : 0};
  }

  reply real(int) {
    double value = std::bit_cast<double>(from_.word());
    if (std::isnan(value)) value = 0.1;
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    bytes_ += "," + std::string(digits, end) + "\r\n";
    return {.kind = reply_kind::real, .number = value};
  }

  reply big_number(int) {
    std::string digits = from_.below(2) == 1 ? "-1" : "1";
    for (std::size_t left = from_.below(60); left > 0; --left) {
      digits += static_cast<char>('0' + from_.below(10));
    }
    return line('(', reply_kind::big_number, digits);
  }

  reply array(int depth) { return aggregate(reply_kind::array, '*', depth); }
  reply set(int depth) { return aggregate(reply_kind::set, '~', depth); }
  reply map(int depth) { return aggregate(reply_kind::map, '%', depth); }

  reply aggregate(reply_kind kind, char type, int depth) {
    const std::size_t counted = depth == depth_max ? 0 : from_.below(5);
    bytes_ += type + std::to_string(counted) + "\r\n";
    reply made{.kind = kind};
    const std::size_t count = kind == reply_kind::map ? 2 * counted : counted;
    for (std::size_t i = 0; i < count; ++i) made.elements.push_back(element(depth + 1));
    return made;
  }

  // Is written, and must leave no trace in what is read.
  void attribute(int depth) {
    const std::size_t pairs = from_.below(3);
    bytes_ += "|" + std::to_string(pairs) + "\r\n";
    for (std::size_t i = 0; i < 2 * pairs; ++i) static_cast<void>(element(depth + 1));
  }

  choices& from_;
  dialect spoken_;
  std::string bytes_;
  std::vector<reply> expected_;
};

/// A message as RESP3 would send it; texts that do not fit into a line as bulk strings.
inline std::string resp3_of(const reply& r) {
  const auto bulk = [&](char type) {
    return type + std::to_string(r.text.size()) + "\r\n" + r.text + "\r\n";
  };
  const auto aggregate = [&](char type, std::size_t count) {
    std::string all = type + std::to_string(count) + "\r\n";
    for (const reply& part : r.elements) all += resp3_of(part);
    return all;
  };
  char digits[32];
  switch (r.kind) {
    case reply_kind::too_long:
      return "$" + std::to_string(r.integer) + "\r\n" +
             std::string(static_cast<std::size_t>(r.integer), 'x') + "\r\n";
    case reply_kind::null:
      return "_\r\n";
    case reply_kind::status:
      return "+" + r.text + "\r\n";
    case reply_kind::error:
      return bulk('!');
    case reply_kind::integer:
      return ":" + std::to_string(r.integer) + "\r\n";
    case reply_kind::text:
      return bulk('$');
    case reply_kind::boolean:
      return r.integer == 1 ? "#t\r\n" : "#f\r\n";
    case reply_kind::real:
      return "," + std::string(digits, std::to_chars(digits, std::end(digits), r.number).ptr) +
             "\r\n";
    case reply_kind::big_number:
      return "(" + r.text + "\r\n";
    case reply_kind::array:
      return aggregate('*', r.elements.size());
    case reply_kind::map:
      return aggregate('%', r.elements.size() / 2);
    case reply_kind::set:
      return aggregate('~', r.elements.size());
    case reply_kind::push:
      return aggregate('>', r.elements.size());
  }
  return {};
}

/// For the messages of GoogleTest.
inline void PrintTo(const reply& r, std::ostream* out) { *out << resp3_of(r); }

/// What came out of a reader.
struct reading {
  std::vector<reply> messages;
  std::optional<resp_failure> failure;
};

/// Reads a stream in pieces of `piece()` bytes, the messages of a piece after each.
template <class Piece>
reading read_in_pieces(resp_reader& reader, std::string_view bytes, Piece piece) {
  reading all;
  while (!bytes.empty() && reader.failure() == nullptr) {
    const std::size_t size = std::clamp<std::size_t>(piece(), 1, bytes.size());
    reader.feed(bytes.substr(0, size));
    bytes.remove_prefix(size);
    while (const reply* r = reader.next()) all.messages.push_back(*r);
  }
  if (reader.failure() != nullptr) all.failure = *reader.failure();
  return all;
}

/// Reads a stream in pieces of one size.
inline reading read_all(std::string_view bytes, std::size_t piece = SIZE_MAX,
                        const resp_limits& limits = {}) {
  resp_reader reader(limits);
  return read_in_pieces(reader, bytes, [&] { return piece; });
}

}  // namespace holdfast::wire
