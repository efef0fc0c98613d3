#include "history/register_steps.hpp"

#include "history/operations.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

namespace holdfast::history {

namespace {

constexpr std::string_view stale = "stale_token";

// By their contract in holdfast/error.hpp and holdfast/fence.hpp. After the first nothing was asked
// of the storage; after the others no value was set, but the token may have raised the floor: it
// does so on arrival, and then waits for older ones, or for a disk.
constexpr std::array<std::string_view, 7> never_arrived{
    "denied",   "unsupported",   "invalid_argument", "not_initialised",
    "expiring", "mode_conflict", "would_block"};
constexpr std::array<std::string_view, 4> wrote_nothing{"busy", "timed_out", "cancelled",
                                                        "unavailable"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& outcomes, const line& l) {
  return std::find(outcomes.begin(), outcomes.end(), l.outcome) != outcomes.end();
}

/// What a line without `ok` leaves open; nothing when it leaves no trace.
std::optional<step> perhaps(step s, const line& l) {
  if (l.outcome == stale) {
    s.what = effect::refused;
    return s.token == 0 ? std::nullopt : std::optional(s);
  }
  if (is_one_of(never_arrived, l)) return std::nullopt;
  s.may_be_left_out = true;
  s.returned = never;
  if (s.is_write && !is_one_of(wrote_nothing, l)) return s;
  // It set no value; its token may have raised the floor all the same.
  s.what = effect::raised;
  s.is_write = false;
  return s.token == 0 ? std::nullopt : std::optional(s);
}

class value_numbers {
 public:
  value_number of(const line& l) {
    if (!l.value) return l.what == operation::write ? unrecorded : nothing_written;
    const auto next = static_cast<value_number>(unrecorded + 1 + numbers_.size());
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
    if (l.what == operation::read) s.how = l.mode;
    const auto done = l.outcome == ok ? std::optional(s) : perhaps(s, l);
    if (done) steps.push_back(*done);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const step& a, const step& b) { return a.invoked < b.invoked; });
  return steps;
}

}  // namespace holdfast::history
