#include "fence/log_inline.hpp"

#include "core/hexadecimal.hpp"

#include <array>
#include <charconv>
#include <span>

namespace holdfast::fencing {
namespace {

constexpr std::string_view inline_title = "holdfast-log-inline ";
constexpr std::string_view format_title = "holdfast-log ";
constexpr std::uint64_t format_version = 1;

void line(std::string& out, std::string_view word, std::initializer_list<std::uint64_t> numbers) {
  out += word;
  for (const std::uint64_t n : numbers) out += ' ' + std::to_string(n);
  out += '\n';
}

std::string end_line(std::string_view before) {
  return "end " + core::hexadecimal(checksum_of(std::as_bytes(std::span(before))), 16) + "\n";
}

/// Takes a text apart, line by line and number by number; false once it is not as expected.
class scanner {
 public:
  explicit scanner(std::string_view text) : rest_(text) {}

  bool next_line() {
    const auto end = rest_.find('\n');
    if (end == std::string_view::npos) return false;
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool word(std::string_view expected) {
    if (!line_.starts_with(expected)) return false;
    line_.remove_prefix(expected.size());
    return true;
  }
  bool number(std::uint64_t& value) {
    if (!word(" ") || line_.empty() || line_.front() == '+' || line_.front() == '-') return false;
    // One text for each number: what encode_inline() did not write is damage.
    if (line_.front() == '0' && line_.size() > 1 && line_[1] != ' ') return false;
    const auto [at, failed] = std::from_chars(line_.data(), line_.data() + line_.size(), value);
    if (failed != std::errc()) return false;
    line_.remove_prefix(static_cast<std::size_t>(at - line_.data()));
    return true;
  }
  bool at_line_end() const { return line_.empty(); }
  bool at_end() const { return rest_.empty(); }
  std::string_view line() const { return line_; }

 private:
  std::string_view rest_;
  std::string_view line_;
};

error broken(std::string_view name, std::string_view why) {
  return {errc::damaged, std::string(name) + " is damaged: " + std::string(why) +
                             "; restore this file, with its name, from a copy"};
}

/// The lines between title and checksum, when both are right.
result<std::string_view> body_of(std::string_view text, std::string_view title,
                                 std::string_view name) {
  scanner s(text);
  std::uint64_t version = 0;
  if (!s.next_line() || !s.word(title.substr(0, title.size() - 1)) || !s.number(version) ||
      !s.at_line_end()) {
    return broken(name, "it does not begin with \"" + std::string(title) + "1\"");
  }
  // Before the checksum, which another format may make in another way.
  if (version != format_version) {
    return error(errc::unsupported, std::string(name) + " is of format " + std::to_string(version) +
                                        ", this program knows format 1; use the newer program");
  }
  const auto begin = text.find('\n') + 1;
  const auto end = text.rfind("\nend ");
  if (end == std::string_view::npos || end + 1 < begin) return broken(name, "it is cut off");
  if (text.substr(end + 1) != end_line(text.substr(0, end + 1))) {
    return broken(name, "its checksum is wrong");
  }
  return text.substr(begin, end + 1 - begin);
}

bool read_epoch(scanner& s, log_epoch& e) {
  std::uint64_t of = 0;
  std::uint64_t opening = 0;
  if (!s.number(of) || !s.number(opening)) return false;
  if (of == 0 || of > token_max.value || opening == 0 || opening > log_epoch::openings_max) {
    return false;
  }
  e = {(of << log_epoch::opening_bits) | opening};
  return true;
}

bool read_ordinal(scanner& s, std::uint32_t& ordinal) {
  std::uint64_t value = 0;
  if (!s.number(value) || value > UINT32_MAX) return false;
  ordinal = static_cast<std::uint32_t>(value);
  return true;
}

bool read_segment(scanner& s, sealed_segment& one) {
  return read_epoch(s, one.id.of) && read_ordinal(s, one.id.ordinal) && s.number(one.first) &&
         s.number(one.records) && s.number(one.bytes) && s.at_line_end() && one.first > 0 &&
         one.records > 0 && one.first <= UINT64_MAX - one.records &&
         one.bytes / record_head_bytes >= one.records;
}

bool read_body(scanner& s, log_inline& v) {
  if (!s.next_line() || !s.word("version") || !s.number(v.version) || !s.at_line_end())
    return false;
  if (v.version == 0) return false;
  if (!s.next_line() || !s.word("owner") || !read_epoch(s, v.owner) || !s.at_line_end())
    return false;
  while (s.next_line() && s.word("segment")) {
    sealed_segment one;
    if (!read_segment(s, one)) return false;
    // Records are numbered without gaps, also where old ones were discarded.
    if (!v.sealed.empty() && v.sealed.back().end() != one.first) return false;
    if (one.id.of > v.owner) return false;
    v.sealed.push_back(one);
  }
  if (!s.word("next") || !s.number(v.next) || !s.at_line_end() || v.next == 0) return false;
  if (!v.sealed.empty() && v.sealed.back().end() != v.next) return false;
  if (!s.next_line()) return false;
  if (s.line() == "closed") return s.at_end();
  std::uint32_t ordinal = 0;
  if (!s.word("open") || !read_ordinal(s, ordinal) || !s.at_line_end()) return false;
  v.open = ordinal;
  return s.at_end();
}

}  // namespace

std::string encode_inline(const log_inline& v) {
  std::string out(inline_title);
  out += std::to_string(format_version) + '\n';
  line(out, "version", {v.version});
  line(out, "owner", {v.owner.token().value, v.owner.opening()});
  for (const auto& s : v.sealed) {
    line(out, "segment",
         {s.id.of.token().value, s.id.of.opening(), s.id.ordinal, s.first, s.records, s.bytes});
  }
  line(out, "next", {v.next});
  if (v.open) {
    line(out, "open", {*v.open});
  } else {
    line(out, "closed", {});
  }
  return out + end_line(out);
}

result<log_inline> decode_inline(std::string_view text, std::string_view name) {
  const auto body = body_of(text, inline_title, name);
  if (!body) return body.error();
  scanner s(*body);
  log_inline v;
  if (!read_body(s, v)) return broken(name, "its lines are not as they are written");
  return v;
}

std::string encode_format(std::string_view source) {
  std::string out(format_title);
  out += std::to_string(format_version) + "\nsource " + std::string(source) + '\n';
  return out + end_line(out);
}

result<std::string> decode_format(std::string_view text, std::string_view name) {
  const auto body = body_of(text, format_title, name);
  if (!body) return body.error();
  scanner s(*body);
  if (!s.next_line() || !s.word("source ") || !s.at_end()) {
    return broken(name, "it does not name the source of its tokens");
  }
  return std::string(s.line());
}

}  // namespace holdfast::fencing
