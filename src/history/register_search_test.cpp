// The checker beside a second one that knows nothing of its method: it lets both moments of every
// operation come whenever they may. And beside the fence itself: histories of what
// holdfast/fence.hpp promises must be possible.
#include "history/search_fixture.hpp"

#include <array>
#include <set>
#include <tuple>

namespace holdfast::history {
namespace {

bool is_shared(const line& l) { return l.mode.is_shared(); }

/// What was let in: floors as those of holdfast/fence.hpp.
struct compared {
  std::uint64_t floor{};
  std::uint64_t newest{};

  bool is_stale(const line& l) const { return l.token.value < (is_shared(l) ? floor : newest); }
  void add(const line& l) {
    newest = std::max(newest, l.token.value);
    if (!is_shared(l)) floor = std::max(floor, l.token.value);
  }
  friend auto operator<=>(const compared&, const compared&) = default;
};

enum class phase : std::uint8_t { called, arrived, done };

/// Whether the lines are those of some storage with two moments: when a token arrives it is
/// compared, and raises the floor whatever comes of it; later the value is set or read.
class storage_trial {
 public:
  explicit storage_trial(std::vector<line> lines) : lines_(std::move(lines)) {}

  bool is_possible() { return some_way({std::vector<phase>(lines_.size()), {}, {}, {}}); }

 private:
  struct state {
    std::vector<phase> phases;
    compared arrived;
    compared done;
    std::optional<std::string> value;
    friend auto operator<=>(const state&, const state&) = default;
  };

  bool some_way(const state& s) {
    if (!seen_.insert(s).second) return false;
    bool all_done = true;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      all_done = all_done && (s.phases[i] == phase::done || end_of(lines_[i]) == open_end);
    }
    if (all_done) return true;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!may_begin(s, i)) continue;
      state next = s;
      if (arrives(next, i) && some_way(next)) return true;
      next = s;
      if (takes_effect(next, i) && some_way(next)) return true;
    }
    return false;
  }

  bool may_begin(const state& s, std::size_t i) const {
    for (std::size_t j = 0; j < lines_.size(); ++j) {
      if (s.phases[j] != phase::done && end_of(lines_[j]) < lines_[i].invoked) return false;
    }
    return true;
  }

  bool arrives(state& s, std::size_t i) const {
    const line& l = lines_[i];
    if (s.phases[i] != phase::called || l.token.value == 0) return false;
    if (l.outcome == "invalid_argument") return false;
    const bool is_late = l.what != operation::raise && s.arrived.is_stale(l);
    if (is_late && l.outcome == "ok") return false;
    s.arrived.add(l);
    s.phases[i] = is_late && l.outcome != "stale_token" ? phase::done : phase::arrived;
    return true;
  }

  bool takes_effect(state& s, std::size_t i) const {
    const line& l = lines_[i];
    if (s.phases[i] == phase::done) return false;
    const bool has_arrived = s.phases[i] == phase::arrived;
    s.phases[i] = phase::done;
    if (l.outcome == "stale_token") return s.arrived.is_stale(l);
    if (l.token.value != 0) {
      const bool good = l.outcome == "ok" || (l.what == operation::write && leaves_open(l));
      if (!good || !has_arrived) return false;
      if (l.what != operation::raise && s.done.is_stale(l)) return false;
      s.done.add(l);
    }
    if (l.what == operation::read && l.value != s.value) return false;
    if (l.what == operation::write) s.value = l.value;
    return true;
  }

  static bool leaves_open(const line& l) {
    return l.outcome == "pending" || l.outcome == "outcome_unknown";
  }

  std::vector<line> lines_;
  std::set<state> seen_;
};

/// Callers of one fence, and of the storage behind it, by the words of holdfast/fence.hpp.
class fence_run : public run {
 public:
  using run::run;

  std::vector<line> lines() {
    for (int i = 0; i < 60; ++i) {
      ++now_;
      call& c = calls_[below(calls_.size())];
      if (c.now == stage::none) {
        if (lines_.size() < 7) begin(c);
      } else if (below(14) == 0) {
        c.now = stage::none;  // Killed.
      } else {
        go_on(c);
      }
    }
    return lines_;
  }

 private:
  enum class stage : std::uint8_t { none, called, arrived, inside, done };
  struct call {
    stage now = stage::none;
    std::size_t at{};
  };

  line& of(const call& c) { return lines_[c.at]; }

  void begin(call& c) {
    constexpr std::array kinds{operation::write, operation::write, operation::read, operation::read,
                               operation::raise};
    c = {stage::called, lines_.size()};
    line l{.what = kinds[below(kinds.size())],
           .caller = "c" + std::to_string(c.at),
           .lock = "x",
           .token = {1 + below(4)},
           .invoked = now_,
           .outcome = "pending",
           .value = {}};
    if (l.what == operation::read && below(2) == 0) {
      l.token = {};
    } else if (l.what == operation::read && below(2) == 0) {
      l.mode = mode::shared();
    }
    if (l.what == operation::write) l.value = std::string(1, static_cast<char>('p' + below(3)));
    lines_.push_back(l);
  }

  void end(call& c, const char* outcome) {
    of(c).outcome = outcome;
    of(c).returned = now_;
    if (of(c).what == operation::read && of(c).outcome != "ok") of(c).value.reset();
    c.now = stage::none;
  }

  bool must_wait(const line& l) {
    return std::any_of(calls_.begin(), calls_.end(), [&](const call& c) {
      return (c.now == stage::inside || c.now == stage::done) && of(c).token < l.token &&
             !(is_shared(of(c)) && is_shared(l));
    });
  }

  void go_on(call& c) {
    line& l = of(c);
    const bool raises = l.what == operation::raise;
    if (c.now == stage::called && l.token.value == 0) {
      l.value = value_;
      end(c, "ok");
    } else if (c.now == stage::called && below(8) == 0) {
      end(c, below(2) == 0 ? "unavailable" : "invalid_argument");
    } else if (c.now == stage::called || c.now == stage::arrived) {
      if (!raises && floors_.is_stale(l)) return end(c, "stale_token");
      floors_.add(l);
      c.now = stage::arrived;
      if (must_wait(l)) {
        if (below(4) == 0) end(c, "timed_out");
      } else if (raises) {
        end(c, "ok");
      } else if (below(3) != 0) {
        c.now = stage::inside;
      }
    } else if (c.now == stage::inside && below(8) == 0) {
      end(c, "outcome_unknown");
    } else if (c.now == stage::inside) {
      if (l.what == operation::write) value_ = l.value;
      if (l.what == operation::read) l.value = value_;
      c.now = stage::done;
    } else {
      end(c, l.what == operation::write && below(8) == 0 ? "outcome_unknown" : "ok");
    }
  }

  std::int64_t now_{};
  std::array<call, 4> calls_;
  std::vector<line> lines_;
  compared floors_;
  std::optional<std::string> value_;
};

/// What is left after a violation was explained must be one by itself.
void expect_explained(const std::vector<line>& lines) {
  for (const judgement& j : judge(lines, {.as = model::fenced_register, .memory_max = {}})) {
    if (j.found != verdict::violation) continue;
    std::vector<line> part;
    for (const auto i : j.conflict) part.push_back(lines[i]);
    EXPECT_FALSE(storage_trial(part).is_possible()) << shown(part) << "out of\n" << shown(lines);
  }
}

TEST(register_search, judges_storage_as_a_trial_of_every_moment_does) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 0; seed < 2 * rounds() && !testing::Test::HasFailure(); ++seed) {
    fence_run r(seed);
    const auto lines = r.lines();
    EXPECT_TRUE(accepted(lines, model::fenced_register)) << seed << "\n" << shown(lines);
    auto other = r.spoilt(lines);
    for (int more = 0; more < 2; ++more) {
      const bool possible = storage_trial(other).is_possible();
      refused += possible ? 0 : 1;
      EXPECT_EQ(accepted(other, model::fenced_register), possible) << seed << "\n" << shown(other);
      expect_explained(other);
      other = r.spoilt(other);
    }
  }
  EXPECT_GT(refused, rounds() / 4);
}

}  // namespace
}  // namespace holdfast::history
