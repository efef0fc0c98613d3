// The checker beside a second one that knows nothing of its method: it tries every order of a
// small history and asks of the whole order whether it is one of a lock, or of fenced storage.
#include <holdfast/history.hpp>

#include "core/rounds_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

namespace holdfast::history {
namespace {

using order = std::vector<const line*>;

constexpr std::int64_t open_end = std::int64_t{1} << 40;

std::int64_t end_of(const line& l) {
  return l.outcome == "ok" || l.outcome == "lost" || l.outcome == "stale_token" ? l.returned
                                                                                : open_end;
}

/// Whether some order of all of `left` after `begun` pleases `allowed`.
template <class Allowed>
bool some_order(order& begun, order left, const Allowed& allowed) {
  if (left.empty()) return allowed(begun);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool comes_first = std::all_of(left.begin(), left.end(), [&](const line* other) {
      return end_of(*other) >= left[i]->invoked;
    });
    if (!comes_first) continue;
    order rest = left;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    begun.push_back(left[i]);
    const bool found = some_order(begun, rest, allowed);
    begun.pop_back();
    if (found) return true;
  }
  return false;
}

struct held {
  std::size_t from, to;
  const line* grant;
};

/// The places of every grant in the order; nothing when something was done without one.
std::optional<std::vector<held>> holders(const order& all) {
  std::map<std::uint64_t, held> by_token;
  std::map<std::uint64_t, bool> over;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const line& l = *all[i];
    if (l.what == operation::acquire) {
      if (!by_token.emplace(l.token.value, held{i, i, &l}).second) return std::nullopt;
      continue;
    }
    const auto g = by_token.find(l.token.value);
    if (l.outcome == "ok") {
      if (g == by_token.end() || over[l.token.value]) return std::nullopt;
      g->second.to = i;
    }
    if (l.what == operation::release) over[l.token.value] = true;
  }
  std::vector<held> all_held;
  for (const auto& [token, h] : by_token) all_held.push_back(h);
  return all_held;
}

bool is_lock_order(const order& all) {
  const auto grants = holders(all);
  if (!grants) return false;
  for (const held& g : *grants) {
    std::size_t beside = 0;
    for (const held& other : *grants) {
      if (&other == &g) continue;
      const bool before = other.from < g.from;
      const bool either_alone = g.grant->how.is_exclusive() || other.grant->how.is_exclusive();
      if (!g.grant->how.is_permits() && before && either_alone &&
          other.grant->token > g.grant->token) {
        return false;
      }
      if (!before || other.to < g.from) continue;
      if (either_alone || !(other.grant->how == g.grant->how)) return false;
      ++beside;
    }
    if (g.grant->how.is_permits() && beside >= g.grant->how.limit()) return false;
  }
  return true;
}

bool is_storage_order(const order& all) {
  std::uint64_t floor = 0;
  std::optional<std::string> value;
  for (const line* l : all) {
    if (l->what == operation::read) {
      if (l->value != value) return false;
    } else if (l->outcome == "stale_token") {
      if (l->token.value >= floor) return false;
    } else if (l->what == operation::raise) {
      floor = std::max(floor, l->token.value);
    } else {
      if (l->token.value < floor) return false;
      floor = l->token.value;
      value = l->value;
    }
  }
  return true;
}

bool reference_for_locks(std::vector<line> lines) {
  const bool all_exclusive =
      std::all_of(lines.begin(), lines.end(), [](const line& l) { return l.how.is_exclusive(); });
  std::vector<line> granted;
  std::erase_if(lines, [&](const line& l) {
    if (l.what == operation::acquire) return false;
    const auto has_token = [&](const line& a) {
      return a.what == operation::acquire && a.token == l.token;
    };
    if (std::any_of(lines.begin(), lines.end(), has_token)) return false;
    if (!all_exclusive) return true;
    if (std::none_of(granted.begin(), granted.end(), has_token)) {
      line assumed{.what = operation::acquire,
                   .caller = {},
                   .lock = {},
                   .token = l.token,
                   .invoked = 0,
                   .returned = open_end,
                   .outcome = "ok",
                   .value = {}};
      granted.push_back(assumed);
    }
    return false;
  });
  lines.insert(lines.end(), granted.begin(), granted.end());
  order left, begun;
  for (const line& l : lines) left.push_back(&l);
  return some_order(begun, left, is_lock_order);
}

bool reference_for_storage(const std::vector<line>& lines) {
  order certain, perhaps;
  for (const line& l : lines) (end_of(l) == open_end ? perhaps : certain).push_back(&l);
  for (std::size_t taken = 0; taken < (std::size_t{1} << perhaps.size()); ++taken) {
    order left = certain, begun;
    for (std::size_t i = 0; i < perhaps.size(); ++i) {
      if ((taken >> i & 1) != 0) left.push_back(perhaps[i]);
    }
    if (some_order(begun, left, is_storage_order)) return true;
  }
  return false;
}

/// A run in which one thing happens after the other, written down as overlapping calls.
class run {
 public:
  explicit run(std::uint64_t seed) : random_(seed) {}

  std::vector<line> of_a_lock() {
    const mode kind = below(3) == 0   ? mode::permits(2)
                      : below(2) == 0 ? mode::shared()
                                      : mode::exclusive();
    std::vector<line> held;
    std::uint64_t newest = below(3);
    while (lines_.size() < 6) {
      if (held.empty() || below(3) == 0) {
        const bool alone = kind.is_exclusive() || (kind.is_shared() && below(2) == 0);
        if (alone || (!held.empty() && held.back().how.is_exclusive())) held.clear();
        if (kind.is_permits() && held.size() == 2) held.erase(held.begin());
        newest += 1 + below(2);
        line l = call(operation::acquire, newest);
        l.how = alone ? mode::exclusive() : kind;
        held.push_back(l);
        lines_.push_back(l);
        continue;
      }
      const auto which = below(held.size());
      const bool over = below(3) == 0;
      lines_.push_back(call(over ? operation::release : operation::check, held[which].token.value));
      if (over) held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    return lines_;
  }

  std::vector<line> of_storage() {
    std::uint64_t floor = 0;
    std::optional<std::string> value;
    while (lines_.size() < 6) {
      line l = call(operation::write, 1 + below(4));
      const auto kind = below(5);
      if (kind < 2) {
        l.what = operation::read;
        l.token = {};
        l.value = value;
      } else if (kind == 2) {
        l.what = operation::raise;
        floor = std::max(floor, l.token.value);
      } else {
        l.value = std::string(1, static_cast<char>('p' + below(3)));
        const bool stale = l.token.value < floor;
        if (stale) l.outcome = "stale_token";
        const bool lost_on_the_way = below(6) == 0;
        if (!stale && (!lost_on_the_way || below(2) == 0)) {
          floor = l.token.value;
          value = l.value;
        }
        if (lost_on_the_way) l.outcome = "outcome_unknown";
      }
      lines_.push_back(l);
    }
    return lines_;
  }

  /// One thing in it is changed; it may or may not be possible still.
  std::vector<line> spoilt(std::vector<line> lines) {
    line& l = lines[below(lines.size())];
    switch (below(4)) {
      case 0:
        if (l.token.value != 0) l.token.value = 1 + below(8);
        break;
      case 1: {
        const auto moved = static_cast<std::int64_t>(below(40));
        l.returned = moved + l.returned - l.invoked + 1;
        l.invoked = moved + 1;
        break;
      }
      case 2:
        l.returned = l.invoked;
        break;
      default:
        if (l.value) l.value = std::string(1, static_cast<char>('p' + below(3)));
        if (l.what == operation::release) l.outcome = l.outcome == "ok" ? "lost" : "ok";
        if (l.what == operation::write) l.outcome = l.outcome == "ok" ? "stale_token" : "ok";
    }
    return lines;
  }

 private:
  line call(operation what, std::uint64_t token) {
    now_ += 10;
    const auto before = static_cast<std::int64_t>(below(18));
    const auto after = static_cast<std::int64_t>(below(18));
    return {.what = what,
            .caller = "c" + std::to_string(lines_.size()),
            .lock = "x",
            .token = {token},
            .invoked = std::max<std::int64_t>(now_ - before, 1),
            .returned = now_ + after,
            .outcome = "ok",
            .value = {}};
  }
  std::size_t below(std::size_t n) { return random_() % n; }

  std::mt19937_64 random_;
  std::int64_t now_ = 20;
  std::vector<line> lines_;
};

bool accepted(const std::vector<line>& lines, std::optional<model> as = {}) {
  const auto all = judge(lines, {.as = as, .memory_max = {}});
  return std::all_of(all.begin(), all.end(), [](const judgement& j) {
    EXPECT_NE(j.found, verdict::undecided);
    return j.found == verdict::linearizable;
  });
}

std::string shown(const std::vector<line>& lines) {
  std::string text;
  for (const line& l : lines) text += print(l);
  return text;
}

std::uint64_t rounds() {
  return static_cast<std::uint64_t>(core::shortened(core::rounds(2'000, 20'000)));
}

/// What is left after a violation was explained must be one by itself.
void expect_explained(const std::vector<line>& lines, bool (*reference)(std::vector<line>)) {
  for (const judgement& j : judge(lines)) {
    if (j.found != verdict::violation) continue;
    std::vector<line> part;
    for (const auto i : j.conflict) part.push_back(lines[i]);
    EXPECT_FALSE(reference(part)) << shown(part) << "out of\n" << shown(lines);
  }
}

TEST(search, judges_locks_as_a_trial_of_every_order_does) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 0; seed < rounds() && !testing::Test::HasFailure(); ++seed) {
    run r(seed);
    const auto lines = r.of_a_lock();
    EXPECT_TRUE(accepted(lines)) << seed << "\n" << shown(lines);
    const auto other = r.spoilt(lines);
    const bool possible = reference_for_locks(other);
    refused += possible ? 0 : 1;
    EXPECT_EQ(accepted(other), possible) << seed << "\n" << shown(other);
  }
  EXPECT_GT(refused, rounds() / 10);
}

TEST(search, judges_storage_as_a_trial_of_every_order_does) {
  std::uint64_t refused = 0;
  const auto reference = [](std::vector<line> lines) { return reference_for_storage(lines); };
  for (std::uint64_t seed = 0; seed < rounds() && !testing::Test::HasFailure(); ++seed) {
    run r(seed);
    const auto lines = r.of_storage();
    EXPECT_TRUE(accepted(lines)) << seed << "\n" << shown(lines);
    const auto other = r.spoilt(lines);
    const bool possible = reference_for_storage(other);
    refused += possible ? 0 : 1;
    EXPECT_EQ(accepted(other, model::fenced_register), possible) << seed << "\n" << shown(other);
    expect_explained(other, reference);
  }
  EXPECT_GT(refused, rounds() / 10);
}

}  // namespace
}  // namespace holdfast::history
