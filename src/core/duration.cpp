#include <holdfast/duration.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace holdfast {

namespace {

struct unit {
  std::string_view name;
  std::int64_t ns;
};

/// In the order in which the parts of a duration are written.
constexpr std::array<unit, 6> units{{{"h", 3'600'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"s", 1'000'000'000},
                                     {"ms", 1'000'000},
                                     {"us", 1'000},
                                     {"ns", 1}}};

constexpr std::int64_t limit = forever.count();

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

error bad(std::string_view text, std::string_view why) {
  std::string message = "duration \"";
  // The text may be anything a user typed; only a short, harmless part of it is repeated.
  // What follows in a URL may be a password.
  const std::size_t colon = text.find(':');
  const std::size_t shown = colon < text.size() ? std::min<std::size_t>(colon + 1, 40) : 40;
  for (const char c : text.substr(0, shown)) {
    message += (c >= ' ' && c < 0x7f && c != '"') ? c : '?';
  }
  message.append("\": ").append(why).append("; write it like 30s, 1m30s, 250ms or 1.5h");
  return error(errc::invalid_argument, std::move(message));
}

struct part {
  std::string_view whole;
  std::string_view fraction;
  std::string_view unit_name;
  bool has_point{};
};

std::string_view take_digits(std::string_view& rest) {
  std::size_t n = 0;
  while (n < rest.size() && is_digit(rest[n])) ++n;
  const auto digits = rest.substr(0, n);
  rest.remove_prefix(n);
  return digits;
}

part take_part(std::string_view& rest) {
  part p;
  p.whole = take_digits(rest);
  if (rest.starts_with('.')) {
    p.has_point = true;
    rest.remove_prefix(1);
    p.fraction = take_digits(rest);
  }
  std::size_t n = 0;
  while (n < rest.size() && !is_digit(rest[n]) && rest[n] != '.') ++n;
  p.unit_name = rest.substr(0, n);
  rest.remove_prefix(n);
  return p;
}

bool add(std::int64_t& total, std::int64_t count, std::int64_t ns) noexcept {
  std::int64_t product{};
  return !__builtin_mul_overflow(count, ns, &product) &&
         !__builtin_add_overflow(total, product, &total) && total < limit;
}

bool add_whole(std::int64_t& total, std::string_view digits, std::int64_t ns) noexcept {
  std::int64_t count = 0;
  for (const char c : digits) {
    if (__builtin_mul_overflow(count, 10, &count)) return false;
    if (__builtin_add_overflow(count, c - '0', &count)) return false;
  }
  return add(total, count, ns);
}

/// False when the fraction is not a whole number of nanoseconds.
bool add_fraction(std::int64_t& total, std::string_view digits, std::int64_t ns) noexcept {
  for (const char c : digits) {
    const std::int64_t tenths = (c - '0') * ns;
    if (tenths % 10 != 0 || (c != '0' && ns == 0)) return false;
    if (!add(total, tenths / 10, 1)) return false;
    ns = ns % 10 == 0 ? ns / 10 : 0;
  }
  return true;
}

}  // namespace

result<duration> parse_duration(std::string_view text) {
  if (text.empty()) return bad(text, "is empty");
  if (text.front() == '-') return bad(text, "is negative");
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const part p = take_part(rest);
    if (p.whole.empty() || (p.has_point && p.fraction.empty())) return bad(text, "has no number");
    if (p.unit_name.empty()) return bad(text, "has no unit");
    if (p.has_point && !rest.empty()) return bad(text, "has a fraction before its last part");
    std::size_t u = 0;
    while (u < units.size() && units[u].name != p.unit_name) ++u;
    if (u == units.size()) return bad(text, "has a unit other than h, m, s, ms, us, ns");
    if (u < next_unit) return bad(text, "has its units twice or not from large to small");
    next_unit = u + 1;
    if (!add_whole(total, p.whole, units[u].ns)) return bad(text, "is too long");
    if (!add_fraction(total, p.fraction, units[u].ns)) {
      return bad(text, "is too long or finer than a nanosecond");
    }
  }
  return duration(total);
}

namespace {

/// `ns` in the unit `u`, with as many decimals as it needs.
std::string decimal(std::uint64_t ns, std::size_t u) {
  const auto size = static_cast<std::uint64_t>(units[u].ns);
  std::string text = std::to_string(ns / size);
  std::uint64_t rest = ns % size;
  if (rest != 0) text += '.';
  for (std::uint64_t place = size / 10; rest != 0; place /= 10) {
    text += static_cast<char>('0' + rest / place);
    rest %= place;
  }
  return text.append(units[u].name);
}

}  // namespace

std::string print_duration(duration d) {
  if (d == forever) return "forever";
  if (d == duration::zero()) return "0s";
  const bool negative = d < duration::zero();
  auto ns = static_cast<std::uint64_t>(d.count());
  if (negative) ns = ~ns + 1;
  std::string text = negative ? "-" : "";
  constexpr std::size_t seconds = 2;
  for (std::size_t u = 0; u < seconds; ++u) {
    const auto size = static_cast<std::uint64_t>(units[u].ns);
    if (ns >= size) text += std::to_string(ns / size).append(units[u].name);
    ns %= size;
  }
  if (ns == 0) return text;
  std::size_t u = seconds;
  const bool has_larger = text.size() > (negative ? 1U : 0U);
  while (!has_larger && ns < static_cast<std::uint64_t>(units[u].ns)) ++u;
  return text + decimal(ns, u);
}

}  // namespace holdfast
