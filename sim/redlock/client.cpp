#include "sim/redlock/client.hpp"

#include <algorithm>

namespace holdfast::sim::redlock {

using namespace std::chrono_literals;

client::client(world& w, int place, std::uint32_t session, host_clock& clock, notes_file& notes,
               duration ttl)
    : world_(w),
      place_(place),
      session_(session),
      ttl_(ttl),
      clock_(clock),
      links_(w.nodes()),
      roster_(*this, notes),
      keeper_(*this) {
  for (int lock = 0; lock < w.setup.locks && ttl > duration::zero(); ++lock) {
    contenders_.push_back(std::make_unique<contender>(*this, static_cast<std::uint32_t>(lock)));
  }
}

void client::start() {
  for (node_index i = 0; i < links_.size(); ++i) connect(i);
  roster_.poll();
  if (ttl_ > duration::zero()) keeper_.start();
  for (auto& c : contenders_) c->again(world_.dice.between(0ms, 20ms));
}

void client::stand_still_until(moment then) noexcept {
  if (paused_ > world_.time.now()) return;
  slept_before_ = slept();
  paused_since_ = world_.time.now();
  paused_ = then;
}

duration client::slept() const noexcept {
  if (drivers.count_suspend) return {};
  return slept_before_ + (std::min(world_.time.now(), paused_) - paused_since_);
}

void client::connect(node_index i) {
  if (world_.at(i).gone) return;
  link& l = links_[i];
  ++l.number;
  l.up = true;
  l.leads_to = i;
  l.life = world_.at(i).life;
  l.last_arrival = l.last_answer = {};
  l.breaks = l.loses = false;
  roster_.look(i);
  for (auto& c : contenders_) c->connected(i);
}

void client::disconnect(node_index i) {
  link& l = links_[i];
  if (!l.up) return;
  l.up = false;
  ++l.number;
  l.leads_to = i;
  roster_.disconnected(i);
  for (auto& c : contenders_) c->disconnected(i);
  post(world_.time.now() + world_.dice.between(1ms, 20ms), [this, i] { connect(i); });
}

void client::break_off(node_index i) {
  link& l = links_[i];
  l.breaks = true;
  l.loses = world_.dice.chance(500'000);
  post(world_.time.now() + world_.way(i), [this, i, number = l.number] {
    if (links_[i].number == number) disconnect(i);
  });
}

void client::node_ended(node_index i) {
  post(world_.time.now() + world_.way(i), [this, i] {
    if (links_[i].life != world_.at(i).life) disconnect(i);
  });
}

void client::heal() {
  for (node_index i = 0; i < links_.size(); ++i) {
    cut_off(i, {});
    disconnect(i);
  }
}

void client::close() {
  keeper_.stop();
  for (auto& c : contenders_) c->stop();
}

}  // namespace holdfast::sim::redlock
