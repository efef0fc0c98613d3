#include "sim/trace.hpp"

#include <algorithm>
#include <iostream>

namespace holdfast::sim {

void trace::note(moment t, const char* what, std::int64_t who, std::int64_t a,
                 std::int64_t b) noexcept {
  const line l{t, what, who, a, b};
  ring_[count_++ % kept] = l;
  // FNV-1a over the numbers; the words follow from them except for their first two letters.
  const auto mix = [this](std::uint64_t v) { digest_ = (digest_ ^ v) * 0x100000001b3U; };
  mix(static_cast<std::uint64_t>(t.count()));
  mix(static_cast<std::uint64_t>(what[0]) << 8U | static_cast<std::uint64_t>(what[1]));
  mix(static_cast<std::uint64_t>(who));
  mix(static_cast<std::uint64_t>(a));
  mix(static_cast<std::uint64_t>(b));
  if (print_) std::cout << words(l) << '\n';
}

std::string trace::words(const line& l) {
  std::string text = print_moment(l.t) + "  s" + std::to_string(l.who) + "  " + l.what;
  if (l.a >= 0) text += ' ' + std::to_string(l.a);
  if (l.b >= 0) text += ' ' + std::to_string(l.b);
  return text;
}

std::string trace::last(std::size_t lines) const {
  const std::uint64_t n = std::min<std::uint64_t>({count_, kept, lines});
  std::string text;
  for (std::uint64_t i = count_ - n; i < count_; ++i) text += words(ring_[i % kept]) + '\n';
  return text;
}

std::string print_moment(moment t) {
  constexpr duration::rep billion = 1'000'000'000;
  std::string fraction = std::to_string(t.count() % billion);
  fraction.insert(0, 9 - fraction.size(), '0');
  return std::to_string(t.count() / billion) + '.' + fraction + " s";
}

}  // namespace holdfast::sim
