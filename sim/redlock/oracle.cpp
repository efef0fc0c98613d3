#include "sim/redlock/oracle.hpp"

#include "core/lease.hpp"
#include "core/redlock/quorum.hpp"
#include "sim/trace.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sim::redlock {

oracle::oracle(const scenario& s, std::function<moment()> now)
    : setup_(s), now_(std::move(now)), locks_(static_cast<std::size_t>(s.locks)) {}

oracle::beginning oracle::begin(std::uint32_t lock) const {
  return {now_(), locks_.at(lock).newest};
}

std::string oracle::words(const holder& h) {
  return "client " + std::to_string(h.client) + " with lock " + std::to_string(h.lock) +
         " and token " + std::to_string(h.token);
}

template <class Judge>
bool oracle::was_denied(const holder& h, Judge judge) const {
  const auto [first, last] = denied_.equal_range(h.session);
  return std::any_of(first, last, [&](const auto& d) { return judge(d.second); });
}

void oracle::granted(const holder& h, const beginning& began, std::size_t others_valid) {
  ++grants_;
  history& of = locks_.at(h.lock);
  of.granted_at = now_();
  if (setup_.exclusive && others_valid > 0) violated(words(h) + ": somebody else holds it");
  const duration refused_for = setup_.ttl - setup_.ttl / core::rho_divisor;
  const auto refuses = [&](moment at) { return setup_.sessions_end || now_() < at + refused_for; };
  if (was_denied(h, [&](moment at) { return began.at > at && refuses(at); })) {
    violated(words(h) + ": its session was denied before");
  }
  if (!setup_.tokens) return;
  if (h.token <= began.newest) {
    violated(words(h) + ": not above " + std::to_string(began.newest) + " of before it began");
  }
  if (setup_.exclusive && h.token <= of.newest) {
    violated(words(h) + ": the fence has seen " + std::to_string(of.newest));
  }
  if (!of.tokens.insert(h.token).second) violated(words(h) + ": the token was given before");
  if (h.token > of.newest) {
    of.newest = h.token;
    of.newest_at = now_();
  }
}

void oracle::goes_on(const holder& h, std::size_t others_valid) {
  if (h.was_over) violated(words(h) + ": its lease was over before");
  if (setup_.exclusive && others_valid > 0) violated(words(h) + ": goes on, and so does another");
  const duration over = core::takeover_after(h.ttl);
  // Also what was asked before and granted after.
  if (was_denied(h, [&](moment at) { return h.began <= at && now_() > at + over; })) {
    violated(words(h) + ": its session was denied a ttl ago");
  }
  if (!setup_.gaps_end) return;
  if (h.there < core::redlock::majority(static_cast<std::size_t>(setup_.nodes))) {
    violated(words(h) + ": too few nodes say that it is there");
  }
  const history& of = locks_.at(h.lock);
  if (setup_.tokens && of.newest > h.token && now_() > of.newest_at + over) {
    violated(words(h) + ": a newer holder came and went");
  }
}

void oracle::denied(std::uint32_t session) { denied_.emplace(session, now_()); }

void oracle::keeps(milliseconds before, milliseconds after, duration ttl) {
  if (after > std::max(before, in_ms(ttl))) violated("a node keeps a lock for longer than the ttl");
}

void oracle::sets(std::uint64_t value) {
  if (released_.count(value) > 0) violated("a lock that was released everywhere came back");
}

void oracle::died(std::uint32_t lock, moment then) {
  if (locks_.at(lock).granted_at >= then) return;
  violated("lock " + std::to_string(lock) + " is still free though its holder died long ago");
}

void oracle::violated(std::string what) {
  if (!found_) found_ = print_moment(now_()) + ": " + std::move(what);
}

}  // namespace holdfast::sim::redlock
