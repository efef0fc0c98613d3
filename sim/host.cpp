#include "sim/host.hpp"

namespace holdfast::sim {

moment host_clock::when(time_point local) const noexcept {
  if (local <= local_) return base_;  // Compared, for time_point::min() cannot be subtracted from.
  const duration left = local - local_;
  // 1 / (1 + e) is not 1 - e: correct the first guess until the clock has reached `local`.
  moment t = base_ + scale(left, -ppm_);
  for (int i = 0; i < 4; ++i) {
    const duration short_by = local - read(t);
    if (short_by == duration::zero()) break;
    t += short_by;
  }
  while (read(t) < local) t += duration{1};
  return t;
}

void host_clock::set_rate(moment t, int error_ppm) noexcept {
  local_ = read(t);
  base_ = t;
  ppm_ = error_ppm;
}

}  // namespace holdfast::sim
