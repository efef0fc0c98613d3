#include "core/redlock/rejoin.hpp"

#include "core/assert.hpp"
#include "core/redlock/rules.hpp"
#include "core/splitmix.hpp"

#include <algorithm>

namespace holdfast::core::redlock {

rejoin::rejoin(config c)
    : config_(std::move(c)),
      round_(config_.rounds),
      highest_(config_.seen.epoch),
      pause_(config_.timeout, config_.timeout * 64) {
  HOLDFAST_ASSERT(config_.nodes > 0 && config_.nodes <= nodes_max);
  HOLDFAST_ASSERT(config_.node < config_.nodes && config_.timeout > duration::zero());
}

rejoin::step rejoin::tick(const std::vector<other>& others, time_point now) {
  const bool early = !active.wait_then_seal && state_ == state::waiting;
  switch (state_) {
    case state::waiting:
      if (now >= config_.ready || early) return begin(others, now);
      break;
    case state::pausing:
      if (now >= deadline_) return begin(others, now);
      break;
    case state::sealing:
      forget_absent(others);
      if (is_over(now)) return finish_seal(now);
      break;
    case state::writing:
      return now < config_.ready ? rest(now) : write_now(now);
    default:
      break;
  }
  return rest(now);
}

bool rejoin::may_begin(const std::vector<other>& others) const noexcept {
  return state_ != state::waiting || others.size() >= enough();
}

void rejoin::allow(duration max_ttl) noexcept {
  config_.seen.max_ttl = std::max(config_.seen.max_ttl, max_ttl);
}

rejoin::step rejoin::begin(const std::vector<other>& others, time_point now) {
  HOLDFAST_ASSERT(state_ == state::waiting || state_ == state::pausing);
  for (const other& o : others) highest_ = std::max(highest_, o.epoch);
  // In a larger one nobody would be believed.
  if (others.size() < enough() || highest_ >= believable) return pause(now);
  state_ = state::sealing;
  ++round_;
  deadline_ = now + config_.timeout;
  give_up_ = now + seal_limit(config_.timeout);
  epoch_ = active.seal_others ? highest_ + 1 : highest_;
  floor_ = config_.seen.floor;
  asked_ = answered_ = sealed_ = {};
  overtaken_ = 0;
  step s;
  for (const other& o : others) {
    HOLDFAST_ASSERT(o.node < config_.nodes && o.node != config_.node && !asked_.has(o.node));
    asked_.add(o.node);
    s.seals.push_back({o.node, config_.node, o.nonce, epoch_, round_});
  }
  s.wake = deadline_;
  return s;
}

rejoin::step rejoin::sealed(const seal& asked, const seal_reply& r, time_point now) {
  const node_index i = asked.node;
  // An answer of an earlier round would bring a floor that was read too early.
  if (state_ != state::sealing || asked.round != round_ || !asked_.has(i) || answered_.has(i)) {
    return rest(now);
  }
  answered_.add(i);
  if (r.what == seal_reply::result::refused) ++overtaken_;
  // A floor that is damaged bounds nothing.
  if (r.what == seal_reply::result::sealed && r.floor <= believable) {
    sealed_.add(i);
    floor_ = std::max(floor_, r.floor);
  }
  // What is above is damage, and for who looks at that node.
  if (r.epoch <= believable) highest_ = std::max(highest_, r.epoch);
  return is_over(now) ? finish_seal(now) : rest(now);
}

/// Nothing comes from them any more.
void rejoin::forget_absent(const std::vector<other>& others) {
  node_set there;
  for (const other& o : others) there.add(o.node);
  answered_ = answered_ | (asked_ - there);
}

bool rejoin::is_over(time_point now) const noexcept {
  return answered_ == asked_ || now >= give_up_ || (now >= deadline_ && is_decided());
}

std::size_t rejoin::enough() const noexcept {
  return active.seal_enough_others ? seal_count(config_.nodes) : 1;
}

/// Whoever has not answered yet changes nothing.
bool rejoin::is_decided() const noexcept {
  const std::size_t open = (asked_ - answered_).size();
  return sealed_.size() >= enough() || sealed_.size() + open < enough();
}

rejoin::step rejoin::finish_seal(time_point now) {
  highest_ = std::max(highest_, epoch_);
  HOLDFAST_ASSERT(state_ == state::sealing);
  HOLDFAST_ASSERT((sealed_ - answered_).empty() && (answered_ - asked_).empty());
  lacked_ = enough() - std::min(sealed_.size() + overtaken_, enough());
  if (sealed_.size() < enough()) return pause(now);
  state_ = state::writing;
  return now < config_.ready ? rest(now) : write_now(now);
}

rejoin::step rejoin::write_now(time_point now) {
  if (now < deadline_ && sent_write_) return rest(now);
  // Once more, at the one place where it begins to vote again.
  HOLDFAST_ASSERT(state_ == state::writing && now >= config_.ready);
  HOLDFAST_ASSERT(!active.seal_enough_others || sealed_.size() >= seal_count(config_.nodes));
  HOLDFAST_ASSERT(epoch_ > 0 && epoch_ <= highest_ && floor_ >= config_.seen.floor);
  sent_write_ = true;
  deadline_ = now + config_.timeout;
  record_ = config_.seen;
  record_.epoch = epoch_;
  record_.kept_epoch = 0;
  record_.floor = floor_;
  record_.run_id = config_.run_id;
  record_.durable = config_.durable;
  step s;
  s.record = write{config_.node, config_.seen.nonce, config_.seen.epoch, record_};
  s.wake = deadline_;
  return s;
}

rejoin::step rejoin::written(write_reply r, time_point now) {
  if (state_ != state::writing) return rest(now);
  if (r == write_reply::failed) return pause(now);
  state_ = r == write_reply::written ? state::done : state::overtaken;
  return rest(now);
}

const node_record& rejoin::result() const noexcept {
  HOLDFAST_ASSERT(state_ == state::done);
  return record_;
}

/// Two drivers that overtook each other's seals must not do so again.
rejoin::step rejoin::pause(time_point now) {
  state_ = state::pausing;
  sent_write_ = false;
  deadline_ = now + pause_.next(splitmix(config_.seed));
  return rest(now);
}

rejoin::step rejoin::rest(time_point now) const {
  step s;
  if (state_ == state::waiting) s.wake = config_.ready;
  if (state_ == state::pausing) s.wake = deadline_;
  if (state_ == state::sealing) s.wake = now < deadline_ ? deadline_ : give_up_;
  if (state_ == state::writing) s.wake = std::max(config_.ready, deadline_);
  return s;
}

}  // namespace holdfast::core::redlock
