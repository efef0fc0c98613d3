#pragma once

#include "bench/measure.hpp"

#include <holdfast/lock_name.hpp>
#include <holdfast/session.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

/// How long a side is measured.
class stretch {
 public:
  explicit stretch(double seconds) : end_(now_us() + seconds * 1e6) {}
  bool is_over() const { return now_us() >= end_; }

 private:
  double end_;
};

/// The median time of acquire() for one caller that waits for each answer and releases in between;
/// it goes through so many names.
inline double our_p50(session& s, double seconds, std::size_t names = 1'000) {
  std::vector<double> took;
  for (const stretch t(seconds); !t.is_over();) {
    lock_name name("ours:" + std::to_string(took.size() % names));
    const double begin = now_us();
    auto l = s.acquire(std::move(name));
    took.push_back(now_us() - begin);
    if (!l) throw std::runtime_error(l.error().message());
    if (auto r = std::move(*l).release(); !r) throw std::runtime_error(r.error().message());
  }
  return median(std::move(took));
}

}  // namespace holdfast::bench
