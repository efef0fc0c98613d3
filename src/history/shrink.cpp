#include "history/shrink.hpp"

#include <algorithm>
#include <set>

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
      const bool leaves_a_trace = s.what == effect::raised || s.is_write;
      if (!is_of_storage(s) || s.what == effect::refused || !leaves_a_trace) continue;
      s.may_be_left_out = true;
      s.returned = never;
    }
    known.push_back(s);
  }
  return known;
}

/// Whether `kept` explains everything that `gone`, which set a value or the floor, may have caused.
/// Any other step only asks something of an order, and gives nothing.
bool is_dispensable(const step& gone, const std::vector<step>& kept) {
  if (!is_of_storage(gone) || gone.what == effect::refused) return true;
  if (!gone.is_write && gone.token == 0) return true;
  const auto raises_before = [&](const step& other, std::uint64_t above) {
    return other.what != effect::refused && !other.may_be_left_out && other.token > above &&
           other.returned < gone.invoked;
  };
  return std::all_of(kept.begin(), kept.end(), [&](const step& k) {
    if (k.what == effect::refused && k.token < gone.token) {
      return std::any_of(kept.begin(), kept.end(),
                         [&](const step& other) { return raises_before(other, k.token); });
    }
    const bool reads = k.what == effect::admitted && !k.is_write;
    return !reads || !gone.is_write || (gone.value != not_told && k.value != gone.value);
  });
}

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
    const auto at = [&](std::size_t i) { return steps_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::vector<step> kept(at(0), at(from));
    kept.insert(kept.end(), at(end), steps_.end());
    std::vector<step> gone(at(from), at(end));
    // What has to stay may need others of the part.
    for (bool again = true; again;) {
      const auto needed = std::find_if(gone.begin(), gone.end(),
                                       [&](const step& s) { return !is_dispensable(s, kept); });
      again = needed != gone.end();
      if (!again) continue;
      kept.push_back(*needed);
      gone.erase(needed);
    }
    std::stable_sort(kept.begin(), kept.end(),
                     [](const step& a, const step& b) { return a.invoked < b.invoked; });
    return kept;
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
