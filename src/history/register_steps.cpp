#include "history/register_steps.hpp"

#include "history/operations.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace holdfast::history {

namespace {

constexpr std::string_view stale = "stale_token";

// Outcomes after which nothing was done, by their contract: holdfast/error.hpp.
constexpr std::array<std::string_view, 8> nothing_was_done{
    "busy",   "timed_out",   "cancelled",        "unavailable",
    "denied", "unsupported", "invalid_argument", "not_initialised"};

bool left_it_open(const line& l) {
  return std::find(nothing_was_done.begin(), nothing_was_done.end(), l.outcome) ==
         nothing_was_done.end();
}

class value_numbers {
 public:
  value_number of(const line& l) {
    if (!l.value) return l.what == operation::write ? not_told : nothing_written;
    const auto next = static_cast<value_number>(not_told + 1 + numbers_.size());
    return numbers_.emplace(*l.value, next).first->second;
  }

 private:
  std::map<std::string_view, value_number> numbers_;
};

}  // namespace

bool shows_a_fence(const line& l) noexcept {
  return l.what == operation::read || l.what == operation::raise ||
         (l.what == operation::write && (l.value || l.outcome == stale));
}

std::vector<step> register_steps(const std::vector<line>& lines, const line_indices& of_name) {
  std::vector<step> steps;
  value_numbers values;
  for (const std::size_t i : of_name) {
    const line& l = lines[i];
    if (l.what != operation::write && l.what != operation::read && l.what != operation::raise) {
      continue;
    }
    step s{.what = l.what == operation::raise ? effect::raised : effect::admitted,
           .invoked = l.invoked,
           .returned = l.returned,
           .token = l.token.value,
           .line = i,
           .is_write = l.what == operation::write,
           .value = values.of(l)};
    if (l.outcome == stale && l.token.value != 0) {
      s.what = effect::refused;
    } else if (l.outcome != ok) {
      if (l.what == operation::read || !left_it_open(l)) continue;
      s.may_be_left_out = true;
      s.returned = never;
    }
    steps.push_back(s);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const step& a, const step& b) { return a.invoked < b.invoked; });
  return steps;
}

}  // namespace holdfast::history
