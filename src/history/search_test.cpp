// The checker beside a second one that knows nothing of its method: it tries every order of a
// small history and asks of the whole order whether it is one of a lock.
#include "history/search.hpp"
#include "history/register_machine.hpp"
#include "history/search_fixture.hpp"

#include <map>

namespace holdfast::history {
namespace {

using order = std::vector<const line*>;

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
      const bool either_alone = g.grant->mode.is_exclusive() || other.grant->mode.is_exclusive();
      if (!g.grant->mode.is_permits() && before && either_alone &&
          other.grant->token > g.grant->token) {
        return false;
      }
      if (!before || other.to < g.from) continue;
      if (either_alone || !(other.grant->mode == g.grant->mode)) return false;
      ++beside;
    }
    if (g.grant->mode.is_permits() && beside >= g.grant->mode.limit()) return false;
  }
  return true;
}

bool reference_for_locks(std::vector<line> lines) {
  const bool all_exclusive =
      std::all_of(lines.begin(), lines.end(), [](const line& l) { return l.mode.is_exclusive(); });
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

/// One thing happens after the other, and is written down as overlapping calls.
class lock_run : public run {
 public:
  using run::run;

  std::vector<line> of_a_lock() {
    const mode kind = below(3) == 0   ? mode::permits(2)
                      : below(2) == 0 ? mode::shared()
                                      : mode::exclusive();
    std::vector<line> held;
    std::uint64_t newest = below(3);
    while (lines_.size() < 6) {
      if (held.empty() || below(3) == 0) {
        const bool alone = kind.is_exclusive() || (kind.is_shared() && below(2) == 0);
        if (alone || (!held.empty() && held.back().mode.is_exclusive())) held.clear();
        if (kind.is_permits() && held.size() == 2) held.erase(held.begin());
        newest += 1 + below(2);
        line l = call(operation::acquire, newest);
        l.mode = alone ? mode::exclusive() : kind;
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

  std::int64_t now_ = 20;
  std::vector<line> lines_;
};

TEST(search, judges_locks_as_a_trial_of_every_order_does) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 0; seed < rounds() && !testing::Test::HasFailure(); ++seed) {
    lock_run r(seed);
    const auto lines = r.of_a_lock();
    EXPECT_TRUE(accepted(lines)) << seed << "\n" << shown(lines);
    const auto other = r.spoilt(lines);
    const bool possible = reference_for_locks(other);
    refused += possible ? 0 : 1;
    EXPECT_EQ(accepted(other), possible) << seed << "\n" << shown(other);
  }
  EXPECT_GT(refused, rounds() / 10);
}

/// A register that counts what is asked of it.
class counting_machine final : public machine {
 public:
  explicit counting_machine(const std::vector<step>& steps) : real_(steps) {}

  bool apply(const step& s) override { return real_.apply(s); }
  void undo() override { real_.undo(); }
  bool is_harmless(const step& s) const override { return real_.is_harmless(s); }
  bool is_past(const step& s) const override {
    ++asked_;
    return real_.is_past(s);
  }
  void describe(state_key& key) const override { real_.describe(key); }
  std::uint64_t asked() const { return asked_; }

 private:
  register_machine real_;
  mutable std::uint64_t asked_{};
};

/// `count` writers that were killed, each when a newer one had written already.
std::uint64_t asked_of_killed_writers(std::uint32_t count) {
  std::vector<step> steps;
  for (std::uint32_t i = 1; i <= count; ++i) {
    step newer{.what = effect::admitted, .invoked = 100 * std::int64_t{i}};
    newer.returned = newer.invoked + 10;
    newer.token = 2 * std::uint64_t{i};
    newer.is_write = true;
    newer.value = 1 + i;
    step killed = newer;
    killed.invoked += 20;
    killed.returned = never;
    killed.may_be_left_out = true;
    --killed.token;
    steps.push_back(newer);
    steps.push_back(killed);
  }
  counting_machine object(steps);
  search s(steps, object, std::size_t{1} << 28);
  EXPECT_EQ(s.run(), verdict::linearizable);
  return object.asked();
}

TEST(search, passes_by_the_writers_of_long_ago_no_more) {
  EXPECT_LT(asked_of_killed_writers(4'000), 3 * asked_of_killed_writers(2'000));
}

}  // namespace
}  // namespace holdfast::history
