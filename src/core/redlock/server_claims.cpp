#include "core/redlock/server_claims.hpp"

#include "core/assert.hpp"
#include "core/lease.hpp"

#include <algorithm>

namespace holdfast::core::redlock {

bool server_claims::is_over(const stay& s, time_point now) const noexcept {
  return s.gone != time_point::max() &&
         now >= s.gone + takeover_after(std::max(s.max_ttl, max_ttl_));
}

bool server_claims::settle(node_index i, const server& s, duration max_ttl, time_point now) {
  bool is_new = false;
  for (stay& old : stays_) {
    if (old.node != i || !old.is_latest || old.who == s) continue;
    is_new = true;
    old.is_latest = false;
    old.gone = std::min(old.gone, now);
  }
  std::erase_if(stays_, [&](const stay& old) { return !old.is_latest && is_over(old, now); });
  const auto here =
      std::ranges::find_if(stays_, [&](const stay& old) { return old.node == i && old.who == s; });
  stay& now_here = here == stays_.end() ? stays_.emplace_back(i, s) : *here;
  now_here.max_ttl = std::max(now_here.max_ttl, max_ttl);
  now_here.gone = time_point::max();
  now_here.is_latest = true;
  check_latest(i, s);
  return is_new;
}

/// Else a node would have two servers, and leave() would begin the wait of a wrong one.
void server_claims::check_latest(node_index i, const server& s) const noexcept {
  std::size_t latest = 0;
  std::size_t same = 0;
  for (const stay& at : stays_) {
    if (at.node != i) continue;
    latest += at.is_latest ? 1U : 0U;
    same += at.who == s ? 1U : 0U;
  }
  HOLDFAST_ASSERT(latest == 1 && same == 1);
}

void server_claims::leave(node_index i, time_point now) noexcept {
  for (stay& s : stays_) {
    if (s.node == i && s.is_latest) s.gone = std::min(s.gone, now);
  }
}

std::optional<server_claims::claimant> server_claims::elsewhere(node_index i, const server& s,
                                                                time_point now) const noexcept {
  for (const stay& other : stays_) {
    if (other.node == i || is_over(other, now)) continue;
    if (other.who.run_id == s.run_id) return claimant{other.node, false};
    const bool has_record = !s.record_id.empty();
    if (has_record && other.who.record_id == s.record_id) return claimant{other.node, true};
  }
  return std::nullopt;
}

}  // namespace holdfast::core::redlock
