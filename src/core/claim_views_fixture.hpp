#pragma once

#include "core/claim.hpp"

namespace holdfast::core::testing {

/// What a store answers about a queue with one rival, order 1, in it; none when `rival_id` is zero.
inline queue_view view(status what, token mine = {}, std::uint8_t rival_id = 0) {
  queue_view v;
  v.what = what;
  v.mine = mine;
  if (rival_id == 0) return v;
  rival r{};
  r.order = token{1};
  r.owner.bytes[0] = rival_id;
  r.ttl = std::chrono::seconds{30};
  v.ahead.push_back(r);
  v.targets.push_back(r.order);
  return v;
}

template <class R = reply>
R answer(status what) {
  R r;
  r.what = what;
  return r;
}

template <class Act>
bool is(const action& a) {
  return std::holds_alternative<Act>(a);
}

}  // namespace holdfast::core::testing
