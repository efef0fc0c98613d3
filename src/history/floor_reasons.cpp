#include "history/floor_reasons.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace holdfast::history {

namespace {

using lowest_first = std::map<std::uint64_t, const step*>;

const step* above(const lowest_first& raisers, std::uint64_t token) {
  const auto at = raisers.upper_bound(token);
  return at == raisers.end() ? nullptr : at->second;
}

/// What a floor must not shut out.
class passed {
 public:
  explicit passed(const std::vector<step>& by_call) : by_call_(by_call), from_(by_call.size() + 1) {
    for (std::size_t i = by_call.size(); i > 0; --i) {
      const step& s = by_call[i - 1];
      from_[i - 1] = from_[i];
      if (!must_pass(s)) continue;
      auto& least = s.how.is_shared() ? from_[i - 1].shared : from_[i - 1].exclusive;
      least = std::min(least, s.token);
      if (!s.how.is_shared()) exclusive_.push_back(s.token);
    }
    std::sort(exclusive_.begin(), exclusive_.end());
  }

  /// The lowest shared token that passed and was called after `time`.
  std::uint64_t shared_after(std::int64_t time) const { return after(time).shared; }

  /// Whether all pass though the step has raised the floor by `time`. Behind a shared token only
  /// exclusive ones are shut out; but those below it have come, too, and they shut out the others.
  bool in_spite_of(const step& raiser, std::int64_t time) const {
    const lowest& later = after(time);
    if (raiser.token > later.exclusive) return false;
    if (!raiser.how.is_shared()) return raiser.token <= later.shared;
    const auto at = std::lower_bound(exclusive_.begin(), exclusive_.end(), raiser.token);
    return at == exclusive_.begin() || *std::prev(at) <= later.shared;
  }

 private:
  struct lowest {
    std::uint64_t exclusive = UINT64_MAX;
    std::uint64_t shared = UINT64_MAX;
  };

  const lowest& after(std::int64_t time) const {
    const auto first =
        std::upper_bound(by_call_.begin(), by_call_.end(), time,
                         [](std::int64_t t, const step& s) { return t < s.invoked; });
    return from_[static_cast<std::size_t>(first - by_call_.begin())];
  }

  const std::vector<step>& by_call_;
  std::vector<lowest> from_;  ///< By the step from which on.
  std::vector<std::uint64_t> exclusive_;
};

/// Which writes cannot have happened because of refusals.
class shut_out {
 public:
  /// Those with a lower token from `time` on; in the order of the times.
  void below(std::uint64_t token, std::int64_t time) {
    if (floors_.empty() || floors_.back().token < token) floors_.push_back({time, token});
  }
  /// Those with a token between the two.
  void between(std::uint64_t low, std::uint64_t high) {
    if (low < high) gaps_.emplace_back(low, high);
  }

  bool has(const step& write) const {
    if (write.token == 0) return false;
    const auto later = std::lower_bound(floors_.begin(), floors_.end(), write.invoked,
                                        [](const floor& f, std::int64_t t) { return f.time < t; });
    if (later != floors_.begin() && write.token < std::prev(later)->token) return true;
    return std::any_of(gaps_.begin(), gaps_.end(), [&](const auto& gap) {
      return gap.first < write.token && write.token < gap.second;
    });
  }

 private:
  struct floor {
    std::int64_t time;
    std::uint64_t token;
  };
  std::vector<floor> floors_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps_;
};

std::optional<shut_out> shut_out_by_refusals(const std::vector<step>& by_call) {
  const passed all(by_call);
  shut_out out;
  for (const floor_reasons& r : floor_reasons_of(by_call)) {
    const std::int64_t refused_at = r.refused->returned;
    const step* lowest = nullptr;
    for (const step* s : {r.exclusive, r.shared}) {
      if (s == nullptr || !all.in_spite_of(*s, refused_at)) continue;
      if (lowest == nullptr || s->token < lowest->token) lowest = s;
    }
    if (lowest == nullptr) return std::nullopt;
    out.below(lowest->token, refused_at);
    if (lowest->how.is_shared()) out.between(all.shared_after(refused_at), lowest->token);
  }
  return out;
}

}  // namespace

std::vector<floor_reasons> floor_reasons_of(const std::vector<step>& by_call) {
  std::vector<const step*> refused;
  for (const step& s : by_call) {
    if (s.what == effect::refused) refused.push_back(&s);
  }
  std::stable_sort(refused.begin(), refused.end(),
                   [](const step* a, const step* b) { return a->returned < b->returned; });
  std::vector<floor_reasons> all;
  lowest_first exclusive, shared;
  auto next = by_call.begin();
  for (const step* r : refused) {
    for (; next != by_call.end() && next->invoked <= r->returned; ++next) {
      (next->how.is_shared() ? shared : exclusive).emplace(next->token, &*next);
    }
    all.push_back(
        {r, above(exclusive, r->token), r->how.is_shared() ? nullptr : above(shared, r->token)});
  }
  return all;
}

std::optional<std::vector<step>> without_refusals(const std::vector<step>& by_call) {
  const auto out = shut_out_by_refusals(by_call);
  if (!out) return std::nullopt;
  std::set<value_number> seen;
  for (const step& s : by_call) {
    if (s.what == effect::admitted && !s.is_write) seen.insert(s.value);
  }
  std::vector<step> rest;
  for (const step& s : by_call) {
    if (s.what == effect::refused) continue;
    const bool explains = s.what == effect::admitted && !out->has(s) &&
                          (s.value == unrecorded ? !seen.empty() : seen.contains(s.value));
    if (!s.may_be_left_out || explains) rest.push_back(s);
  }
  return rest;
}

}  // namespace holdfast::history
