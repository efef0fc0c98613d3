#include "wire/resp_reader.hpp"

#include "core/assert.hpp"
#include "core/hexadecimal.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

namespace holdfast::wire {
namespace {

// Of a line with a number: more than any has, so that what is longer is refused before its end.
constexpr std::size_t number_bytes_max = 32;
// Type, CR and LF: what an empty line costs, and so the least that an element can take.
constexpr std::size_t element_bytes_min = 3;
// No more than is allowed of any line.
constexpr std::size_t short_bytes_max = number_bytes_max;
// Fewer than could be too large for 64 bits.
constexpr std::size_t short_digits_max = 18;
// Capacity beyond this is given back with the message that needed it.
constexpr std::size_t kept_text_bytes = 16 * 1024;
constexpr std::size_t kept_elements = 256;
// Room made ahead for elements that were announced; the rest is made as they come.
constexpr std::size_t elements_ahead_max = 16;

// A byte as people can read it, whatever it is.
[[gnu::cold]] std::string shown(char c) {
  std::string code = "0x";
  core::append_byte(code, static_cast<std::uint8_t>(c));
  if (c <= ' ' || c > '~') return code;
  return std::string("'") + c + "' (" + code + ")";
}

const char* name_of_type(char type) {
  switch (type) {
    case '$':
      return "a bulk string";
    case '!':
      return "a blob error";
    case '=':
      return "a verbatim string";
    case '*':
      return "an array";
    case '%':
      return "a map";
    case '~':
      return "a set";
    case '>':
      return "a push";
    default:
      return "an attribute";
  }
}

reply_kind kind_of_type(char type) {
  switch (type) {
    case '$':
    case '=':
      return reply_kind::text;
    case '!':
      return reply_kind::error;
    case '%':
      return reply_kind::map;
    case '~':
      return reply_kind::set;
    case '>':
      return reply_kind::push;
    default:
      return reply_kind::array;
  }
}

[[gnu::cold]] std::string beyond(const std::string& what, std::uint64_t count, const char* unit,
                                 std::size_t allowed) {
  return what + std::to_string(count) + unit + ", " + std::to_string(allowed) + " are allowed";
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The whole of `text` as a number: an optional sign and up to 19 digits, which 64 bits without a
// sign always hold.
std::optional<std::int64_t> integer_in(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value > most + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

std::optional<double> real_in(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  double value{};
  if (text == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (text == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    // What from_chars takes besides, ".5", "infinity" and "nan(1)", is not in the specification.
    if (text.empty() || !is_digit(text[0])) return std::nullopt;
    const char* end = text.data() + text.size();
    const auto [stop, trouble] = std::from_chars(text.data(), end, value);
    if (trouble != std::errc{} || stop != end) return std::nullopt;
  }
  return negative ? -value : value;
}

}  // namespace

resp_reader::resp_reader(const resp_limits& limits) : limits_(limits) {
  // Else a line that is allowed could never become whole.
  HOLDFAST_ASSERT(limits.line_bytes >= number_bytes_max);
  HOLDFAST_ASSERT(limits.unread_bytes >= limits.line_bytes + element_bytes_min);
}

std::span<char> resp_reader::space(std::size_t wanted) {
  if (failure_) return {};
  wanted = std::min(wanted, limits_.unread_bytes - unread());
  if (begin_ > 0 && (begin_ == end_ || buffer_.size() - end_ < wanted)) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, unread());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < wanted) buffer_.resize(end_ + wanted);
  return std::span(buffer_).subspan(end_, wanted);
}

void resp_reader::received(std::size_t count) {
  if (failure_) return;
  HOLDFAST_ASSERT(count <= buffer_.size() - end_ && count <= limits_.unread_bytes - unread());
  end_ += count;
}

void resp_reader::feed(std::string_view bytes) {
  if (failure_ || bytes.empty()) return;
  if (bytes.size() > limits_.unread_bytes - unread()) {
    const std::string what = "beside " + std::to_string(unread()) + " unread bytes ";
    fail(end_, beyond(what, bytes.size(), " more", limits_.unread_bytes));
    return;
  }
  const auto room = space(bytes.size());
  std::memcpy(room.data(), bytes.data(), bytes.size());
  received(bytes.size());
}

reply* resp_reader::next() {
  if (!started_) {
    // After a failure nothing is left to read either.
    if (unread() == 0) return nullptr;
    if (read_short()) return &message_;
    start();
  }
  while (true) {
    const step done = bulk_ == nullptr ? read_element() : read_bulk_bytes();
    if (done == step::stuck) return nullptr;
    if (done == step::whole && complete_element()) {
      started_ = false;
      return &message_;
    }
  }
}

void resp_reader::start() {
  clear_message();
  is_short_ = false;
  message_at_ = consumed_;
  started_ = true;
}

void resp_reader::clear_message() {
  if (message_.text.capacity() > kept_text_bytes || message_.elements.capacity() > kept_elements) {
    const reply given_back = std::move(message_);  // Assigned to, a string keeps its capacity.
  }
  message_.text.clear();
  message_.elements.clear();
  message_.integer = 0;
  message_.number = 0;
}

/// Nearly all answers are one short line that came whole: those without the steps that build a
/// message from pieces. What is not as usual in any way is left to those.
bool resp_reader::read_short() {
  const char* const data = buffer_.data() + begin_;
  const std::size_t most = std::min(unread(), short_bytes_max);
  const bool is_number = *data == ':';
  if (!is_number && *data != '+') return false;
  std::size_t at = 1;
  std::int64_t value = 0;
  if (is_number) {
    for (; at < most && at <= short_digits_max && is_digit(data[at]); ++at) {
      value = value * 10 + (data[at] - '0');
    }
    if (at == 1) return false;
  } else {
    while (at < most && data[at] != '\r' && data[at] != '\n') ++at;
  }
  if (at + 1 >= most || data[at] != '\r' || data[at + 1] != '\n') return false;
  if (at + 2 > limits_.message_bytes) return false;
  if (!std::exchange(is_short_, true)) clear_message();
  const std::string_view text(data + 1, is_number ? 0 : at - 1);
  message_.kind = is_number ? reply_kind::integer : reply_kind::status;
  message_.integer = value;
  // Mostly the same as before.
  if (message_.text != text) message_.text.assign(text);
  consume(at + 2);
  return true;
}

resp_reader::step resp_reader::read_element() {
  if (unread() == 0) return step::stuck;
  const char type = buffer_[begin_];
  switch (type) {
    case '+':
      return read_line_of_text(reply_kind::status);
    case '-':
      return read_line_of_text(reply_kind::error);
    case ':':
      return read_integer();
    case '_':
      return read_null();
    case '#':
      return read_boolean();
    case ',':
      return read_real();
    case '(':
      return read_big_number();
    case '$':
    case '!':
    case '=':
      return read_bulk(type);
    case '*':
    case '%':
    case '~':
    case '>':
    case '|':
      return read_aggregate(type);
    case ';':
    case '.':
      return fail(begin_, "a part of a streamed type, " + shown(type) + ": not supported");
    default:
      return fail(begin_, shown(type) + " begins no reply of RESP2 or RESP3");
  }
}

resp_reader::step resp_reader::read_line_of_text(reply_kind kind) {
  const auto text = line(limits_.line_bytes);
  if (!text) return step::stuck;
  add(kind).text.assign(*text);
  consume(text->size() + element_bytes_min);
  return step::whole;
}

resp_reader::step resp_reader::read_integer() {
  const auto text = line(number_bytes_max);
  if (!text) return step::stuck;
  const auto value = integer_in(*text);
  if (!value) return fail(begin_ + 1, "an integer is empty, no number or outside of 64 bits");
  add(reply_kind::integer).integer = *value;
  consume(text->size() + element_bytes_min);
  return step::whole;
}

resp_reader::step resp_reader::read_null() {
  const auto text = line(number_bytes_max);
  if (!text) return step::stuck;
  if (!text->empty()) return fail(begin_ + 1, "a null with something behind it");
  add(reply_kind::null);
  consume(element_bytes_min);
  return step::whole;
}

resp_reader::step resp_reader::read_boolean() {
  const auto text = line(number_bytes_max);
  if (!text) return step::stuck;
  if (*text != "t" && *text != "f") return fail(begin_ + 1, "a boolean that is neither t nor f");
  add(reply_kind::boolean).integer = *text == "t" ? 1 : 0;
  consume(1 + element_bytes_min);
  return step::whole;
}

resp_reader::step resp_reader::read_real() {
  const auto text = line(limits_.line_bytes);
  if (!text) return step::stuck;
  const auto value = real_in(*text);
  if (!value) return fail(begin_ + 1, "a double is empty, no number or out of range");
  add(reply_kind::real).number = *value;
  consume(text->size() + element_bytes_min);
  return step::whole;
}

resp_reader::step resp_reader::read_big_number() {
  const auto text = line(limits_.line_bytes);
  if (!text) return step::stuck;
  const bool has_sign = !text->empty() && ((*text)[0] == '-' || (*text)[0] == '+');
  const auto digits = text->substr(has_sign ? 1 : 0);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return fail(begin_ + 1, "a big number is empty or has something else than digits");
  }
  add(reply_kind::big_number).text.assign(*text);
  consume(text->size() + element_bytes_min);
  return step::whole;
}

resp_reader::step resp_reader::read_bulk(char type) {
  const auto text = line(number_bytes_max);
  if (!text) return step::stuck;
  const auto length = length_in(*text, type);
  if (!length) return step::stuck;
  const std::size_t head_bytes = text->size() + element_bytes_min;
  if (*length < 0) {
    add(reply_kind::null);
    consume(head_bytes);
    return step::whole;
  }
  const auto bytes = static_cast<std::size_t>(*length);
  const std::size_t most = type == '!' ? limits_.bulk_bytes : limits_.dropped_bytes;
  if (bytes > most) {
    return fail(begin_, beyond(name_of_type(type) + std::string(" of "), bytes, " bytes", most));
  }
  // "txt:" comes before the text of a verbatim string.
  if (type == '=' && bytes < 4) return fail(begin_, "a verbatim string without its format");
  const std::size_t left = limits_.message_bytes - (consumed_ - message_at_);
  const bool drops = type != '!' && (bytes > limits_.bulk_bytes || head_bytes + bytes + 2 > left);
  if (!fits(head_bytes + (drops ? 0 : bytes) + 2, name_of_type(type))) return step::stuck;
  bulk_ = &add(drops ? reply_kind::too_long : kind_of_type(type));
  if (drops) bulk_->integer = *length;
  bulk_missing_ = bytes;
  bulk_is_verbatim_ = type == '=';
  consume(head_bytes);
  return step::going;
}

resp_reader::step resp_reader::read_bulk_bytes() {
  const std::size_t part = std::min(bulk_missing_, unread());
  const bool drops = bulk_->is(reply_kind::too_long);
  if (drops) message_at_ += part;
  if (!drops) bulk_->text.append(buffer_.data() + begin_, part);
  bulk_missing_ -= part;
  consume(part);
  if (unread() == 0) return step::stuck;
  const std::size_t wrong = buffer_[begin_] != '\r' ? 0 : 1;
  if (wrong >= unread()) return step::stuck;
  if (wrong == 0 || buffer_[begin_ + 1] != '\n') {
    const auto bytes = drops ? static_cast<std::size_t>(bulk_->integer) : bulk_->text.size();
    return fail(begin_ + wrong,
                "no line end behind the announced " + std::to_string(bytes) + " bytes of a string");
  }
  if (bulk_is_verbatim_ && !drops) {
    if (bulk_->text[3] != ':') return fail(begin_, "a verbatim string without its format");
    bulk_->text.erase(0, 4);
  }
  bulk_ = nullptr;
  consume(2);
  return step::whole;
}

resp_reader::step resp_reader::read_aggregate(char type) {
  const auto text = line(number_bytes_max);
  if (!text) return step::stuck;
  if (type == '>' && !open_.empty()) return fail(begin_, "a push inside of another reply");
  const auto length = length_in(*text, type);
  if (!length) return step::stuck;
  const std::size_t head_bytes = text->size() + element_bytes_min;
  if (*length < 0) {
    add(reply_kind::null);
    consume(head_bytes);
    return step::whole;
  }
  const auto announced = static_cast<std::uint64_t>(*length);
  const unsigned each = type == '%' || type == '|' ? 2 : 1;
  if (announced > limits_.elements / each) {
    return fail(begin_, beyond(name_of_type(type) + std::string(" of "), announced,
                               each == 2 ? " pairs" : " elements", limits_.elements / each));
  }
  const auto count = static_cast<std::size_t>(announced) * each;
  // The smaller of the two keeps the product small and is still refused when count is too large.
  const std::uint64_t at_least = std::min(count, limits_.message_bytes) * element_bytes_min;
  if (!fits(head_bytes + at_least, name_of_type(type))) return step::stuck;
  return open(type, count, head_bytes);
}

resp_reader::step resp_reader::open(char type, std::size_t count, std::size_t head_bytes) {
  if (open_.size() >= limits_.depth) {
    return fail(begin_, beyond(name_of_type(type) + std::string(" at level "), open_.size() + 1, "",
                               limits_.depth));
  }
  consume(head_bytes);
  const bool is_attribute = type == '|';
  if (is_attribute && count == 0) return step::going;
  reply& node = add(kind_of_type(type));
  if (count == 0) return step::whole;
  node.elements.reserve(std::min(count, elements_ahead_max));
  open_.push_back({&node, count, is_attribute});
  return step::going;
}

// True when the element that became complete completes the message.
bool resp_reader::complete_element() {
  while (!open_.empty()) {
    if (--open_.back().missing > 0) return false;
    const bool was_attribute = open_.back().is_attribute;
    open_.pop_back();
    if (!was_attribute) continue;
    // An attribute is no element of what it stands in: the one that it describes follows.
    if (open_.empty()) {
      message_.elements.clear();
    } else {
      open_.back().node->elements.pop_back();
    }
    return false;
  }
  return true;
}

// What is between the type and the line end; nothing when more bytes are needed or it failed.
std::optional<std::string_view> resp_reader::line(std::size_t bytes_max) {
  const char* data = buffer_.data() + begin_;
  std::size_t at = std::max<std::size_t>(scanned_, 1);
  while (at < unread() && data[at] != '\r' && data[at] != '\n') ++at;
  scanned_ = at;
  if (at - 1 > bytes_max) {
    fail(begin_ + bytes_max + 1, "no line end within " + std::to_string(bytes_max) + " bytes");
    return std::nullopt;
  }
  if (at >= unread()) return std::nullopt;
  if (data[at] == '\n') {
    fail(begin_ + at, "a line end without its CR");
    return std::nullopt;
  }
  if (at + 1 == unread()) return std::nullopt;
  if (data[at + 1] != '\n') {
    fail(begin_ + at + 1, "a CR without its LF");
    return std::nullopt;
  }
  if (!fits(at + 2, "a line")) return std::nullopt;
  return std::string_view(data + 1, at - 1);
}

// A length that was announced: -1 for the nulls of RESP2, nothing when it failed.
std::optional<std::int64_t> resp_reader::length_in(std::string_view text, char type) {
  if (!text.empty() && is_digit(text[0])) {
    if (const auto value = integer_in(text)) return value;
  }
  if (text == "-1" && (type == '$' || type == '*')) return -1;
  const std::string name = name_of_type(type);
  if (text == "?") {
    fail(begin_, name + " of unknown length, streamed: not supported");
  } else {
    const char* why = " is empty, no number, negative or outside of 64 bits";
    fail(begin_ + 1, "the length of " + name + why);
  }
  return std::nullopt;
}

// The place of the element that begins: the message itself, or the last one of the open aggregate.
reply& resp_reader::add(reply_kind kind) {
  reply& added = open_.empty() ? message_ : open_.back().node->elements.emplace_back();
  added.kind = kind;
  return added;
}

void resp_reader::consume(std::size_t count) noexcept {
  begin_ += count;
  consumed_ += count;
  scanned_ = 0;
}

// Whether the message may have so many bytes more.
bool resp_reader::fits(std::uint64_t more_bytes, const char* what) {
  const std::uint64_t bytes = consumed_ - message_at_ + more_bytes;
  if (bytes <= limits_.message_bytes) [[likely]]
    return true;
  const std::string with = std::string("with ") + what + " the message has at least ";
  fail(begin_, beyond(with, bytes, " bytes", limits_.message_bytes));
  return false;
}

resp_reader::step resp_reader::fail(std::size_t position, std::string_view why) {
  const std::uint64_t at = consumed_ + (position - begin_);
  failure_ = resp_failure{at, "byte " + std::to_string(at) + " of the replies: "};
  failure_->message += why;
  buffer_ = {};
  begin_ = end_ = scanned_ = 0;
  bulk_ = nullptr;
  open_ = {};
  message_ = {};
  started_ = false;
  return step::stuck;
}

}  // namespace holdfast::wire
