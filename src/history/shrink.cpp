#include "history/shrink.hpp"

#include "history/floor_reasons.hpp"

#include <algorithm>
#include <map>
#include <set>

/// From a history that has no order to a few lines that have none: first the earliest moment at
/// which that was so, then parts are left out, by halves, as long as what remains violates. What
/// explains a kept line is kept as well, or its absence would be the violation.

namespace holdfast::history {

namespace {

bool is_of_storage(const step& s) noexcept {
  return s.what == effect::admitted || s.what == effect::refused || s.what == effect::raised;
}

/// What was known at `time`: later calls are not there, and what had not returned may have
/// happened or not.
std::vector<step> until(const std::vector<step>& all, std::int64_t time) {
  std::vector<step> known;
  for (step s : all) {
    if (s.invoked > time) continue;
    if (s.returned > time) {
      const bool sets = s.what == effect::admitted && s.is_write;
      if (!is_of_storage(s) || (!sets && s.token == 0)) continue;
      if (!sets) s.what = effect::raised;
      s.may_be_left_out = true;
      s.returned = never;
    }
    known.push_back(s);
  }
  return known;
}

/// Which steps of storage say something only together with others: a read needs whatever can have
/// set its value, a refusal what can have raised the floor. Any other only asks something of an
/// order, and gives nothing.
class needs {
 public:
  explicit needs(const std::vector<step>& steps) : steps_(steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const step& s = steps[i];
      if (s.what == effect::admitted && s.is_write) writes_[s.value].push_back(i);
    }
    for (const floor_reasons& r : floor_reasons_of(steps)) {
      auto& of = raisers_[index_of(r.refused)];
      for (const step* s : {r.exclusive, r.shared}) {
        if (s != nullptr) of.push_back(index_of(s));
      }
    }
  }

  /// Adds to the kept ones what they need.
  void complete(std::vector<bool>& kept) {
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) fresh.push_back(i);
    }
    std::set<value_number> done;
    const auto keep = [&](const std::vector<std::size_t>& needed) {
      for (const std::size_t i : needed) {
        if (!kept[i]) fresh.push_back(i);
        kept[i] = true;
      }
    };
    while (!fresh.empty()) {
      const step& s = steps_[fresh.back()];
      const std::size_t at = fresh.back();
      fresh.pop_back();
      if (s.what == effect::refused) keep(raisers_[at]);
      if (s.what != effect::admitted || s.is_write) continue;
      for (const value_number v : {s.value, unrecorded}) {
        if (done.insert(v).second) keep(writes_[v]);
      }
    }
  }

 private:
  std::size_t index_of(const step* s) const { return static_cast<std::size_t>(s - steps_.data()); }

  const std::vector<step>& steps_;
  std::map<value_number, std::vector<std::size_t>> writes_;
  std::map<std::size_t, std::vector<std::size_t>> raisers_;
};

class shrinking {
 public:
  shrinking(std::vector<step> violating, const try_steps& attempt, std::uint64_t tries_max)
      : steps_(std::move(violating)), attempt_(attempt), tries_left_(tries_max) {}

  std::vector<step> run() {
    cut_the_end();
    for (std::size_t size = steps_.size(); size > 0 && tries_left_ > 0;) {
      size = std::max<std::size_t>(size / 2, 1);
      const bool smaller = leave_out_parts_of(size);
      if (size == 1 && !smaller) break;
    }
    return steps_;
  }

 private:
  bool violates(const std::vector<step>& part) {
    if (tries_left_ == 0) return false;
    const auto t = attempt_(part);
    // A trial costs its preparation too.
    tries_left_ -= std::min(tries_left_, t.tries + part.size());
    return t.violates;
  }

  /// The earliest moment at which the violation was there.
  void cut_the_end() {
    std::set<std::int64_t> returns;
    for (const step& s : steps_) returns.insert(s.returned);
    std::vector<std::int64_t> times(returns.begin(), returns.end());
    std::size_t low = 0;
    std::size_t high = times.size();
    while (low < high) {
      const auto middle = (low + high) / 2;
      if (violates(until(steps_, times[middle]))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (low == times.size()) return;
    auto known = until(steps_, times[low]);
    if (violates(known)) steps_ = std::move(known);
  }

  bool leave_out_parts_of(std::size_t size) {
    bool any = false;
    // From the end: what explains comes before what it explains.
    for (std::size_t end = steps_.size(); end > 0 && tries_left_ > 0;) {
      const std::size_t from = end > size ? end - size : 0;
      auto kept = without(from, end);
      if (kept.size() < steps_.size() && violates(kept)) {
        steps_ = std::move(kept);
        any = true;
      }
      end = std::min(from, steps_.size());
    }
    return any;
  }

  /// The steps but for those of a part that can be left out.
  std::vector<step> without(std::size_t from, std::size_t end) const {
    std::vector<bool> kept(steps_.size(), true);
    std::fill(kept.begin() + static_cast<std::ptrdiff_t>(from),
              kept.begin() + static_cast<std::ptrdiff_t>(end), false);
    needs(steps_).complete(kept);
    std::vector<step> part;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (kept[i]) part.push_back(steps_[i]);
    }
    return part;
  }

  std::vector<step> steps_;
  const try_steps& attempt_;
  std::uint64_t tries_left_;
};

}  // namespace

std::vector<step> shrink(std::vector<step> violating, const try_steps& attempt,
                         std::uint64_t tries_max) {
  return shrinking(std::move(violating), attempt, tries_max).run();
}

}  // namespace holdfast::history
