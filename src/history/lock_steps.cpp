#include "history/lock_steps.hpp"

#include "history/operations.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::history {

namespace {

/// Which grant a line is about, and what is known of it.
struct grant_facts {
  std::size_t number{};
  std::uint64_t token{};
  mode how = mode::exclusive();
};

class grant_register {
 public:
  explicit grant_register(const lock_reading& how) : how_(how) {}

  /// A grant that is in the lines, before any of them is read.
  std::size_t add(const line& l) {
    const std::size_t number = known_.size();
    known_.push_back({number, l.token.value, l.mode});
    if (l.token.value == 0) return number;
    by_token_.emplace(l.token.value, number);
    by_both_.emplace(std::pair(l.caller, l.token.value), number);
    return number;
  }

  /// From here on the line's caller acts under this one, unless its token names another.
  std::optional<grant_facts> begin(const line& l, std::size_t number) {
    last_of_[l.caller] = number;
    if (l.token.value != 0) by_both_[{l.caller, l.token.value}] = number;
    return known_[number];
  }

  /// The grant under which the line's caller acted; nothing when that is not certain.
  std::optional<grant_facts> of(const line& l) {
    if (l.token.value != 0) {
      const auto own = by_both_.find({l.caller, l.token.value});
      if (own != by_both_.end()) return known_[own->second];
      const auto any = by_token_.find(l.token.value);
      if (any != by_token_.end()) return known_[any->second];
    } else {
      const auto last = last_of_.find(l.caller);
      if (last != last_of_.end()) return known_[last->second];
    }
    // It was granted before the lines begin. How is known only where all are exclusive, and which
    // one it was has to be known where tokens are judged.
    if (!how_.all_exclusive || (how_.fenced && l.token.value == 0)) return std::nullopt;
    line granted_before = l;
    granted_before.mode = mode::exclusive();
    const std::size_t number = add(granted_before);
    if (l.token.value == 0) last_of_[l.caller] = number;
    return known_[number];
  }

 private:
  lock_reading how_;
  std::vector<grant_facts> known_;
  std::map<std::uint64_t, std::size_t> by_token_;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> by_both_;
  std::map<std::string, std::size_t> last_of_;
};

std::optional<effect> effect_of(const line& l, const lock_reading& how) {
  if (l.outcome == pending) return std::nullopt;
  const bool good = l.outcome == ok;
  switch (l.what) {
    case operation::acquire:
      return good ? std::optional(effect::grant) : std::nullopt;
    case operation::check:
      return good ? std::optional(effect::proof) : std::nullopt;
    case operation::write:
      return good && how.writes_prove ? std::optional(effect::proof) : std::nullopt;
    case operation::release:
      // Whatever it answers, the lock is over for its holder: see lock::release.
      return good ? effect::give_back : effect::loss;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<step> lock_steps(const std::vector<line>& lines, const line_indices& of_name,
                             const lock_reading& how) {
  line_indices by_call = of_name;
  std::stable_sort(by_call.begin(), by_call.end(), [&](std::size_t a, std::size_t b) {
    return lines[a].invoked < lines[b].invoked;
  });
  grant_register grants(how);
  std::vector<step> steps;
  std::map<std::size_t, std::size_t> number_of;
  // All grants first: what is done under a token may be recorded by somebody else, and earlier.
  for (const std::size_t i : by_call) {
    if (effect_of(lines[i], how) == effect::grant) number_of[i] = grants.add(lines[i]);
  }
  for (const std::size_t i : by_call) {
    const line& l = lines[i];
    const auto what = effect_of(l, how);
    if (!what) continue;
    step s{.what = *what, .invoked = l.invoked, .returned = l.returned, .line = i};
    const auto g = *what == effect::grant ? grants.begin(l, number_of[i]) : grants.of(l);
    if (!g) continue;
    s.token = g->token;
    s.grant = g->number;
    s.how = g->how;
    steps.push_back(s);
  }
  return steps;
}

std::vector<step> with_assumed_grants(std::vector<step> steps) {
  std::map<std::size_t, const step*> missing;
  for (const step& s : steps) {
    if (s.what == effect::proof || s.what == effect::give_back) missing.emplace(s.grant, &s);
  }
  for (const step& s : steps) {
    if (s.what == effect::grant) missing.erase(s.grant);
  }
  std::vector<step> all;
  for (const auto& [grant, of] : missing) {
    all.push_back({.what = effect::grant,
                   .invoked = always,
                   .returned = never,
                   .token = of->token,
                   .grant = grant,
                   .how = of->how});
  }
  all.insert(all.end(), steps.begin(), steps.end());
  return all;
}

}  // namespace holdfast::history
