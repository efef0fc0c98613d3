#include "sim/world.hpp"

#include "sim/session_driver.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;

world::world(const scenario& s, std::uint64_t seed) : context_(s, seed), judge_(context_) {
  build();
}

void world::build() {
  const scenario& s = context_.setup;
  random& dice = context_.dice;
  for (int i = 0; i < s.hosts; ++i) {
    host_clock clock(dice.between(1s, 1000000s), dice.between(-s.drift_ppm, s.drift_ppm));
    context_.hosts.push_back({i, clock, {}});
  }
  for (int i = 0; i < s.stores; ++i) {
    stores_.push_back(std::make_unique<store>(context_, i, dice.chance(s.compare_beats)));
  }
  for (int i = 0; i < s.processes; ++i) {
    auto& machine = context_.hosts[dice.below(context_.hosts.size())];
    processes_.push_back(std::make_unique<process>(context_, judge_, i, machine));
    processes_.back()->start(stores_);
  }
  every(s.pause_every, &world::pause_somebody);
  every(s.crash_every, &world::kill_somebody);
  every(s.outage_every, &world::silence_a_store);
  every(s.cut_every, &world::cut_somebody);
  every(s.deny_every, &world::deny_somebody);
  every(s.close_every, &world::close_somebody);
  every(s.drift_every, &world::change_a_clock);
  replace_the_dead();
  audit();
}

void world::every(duration mean, void (world::*what)()) {
  if (mean == 0s) return;
  const moment next = context_.time.now() + context_.dice.between(1ms, 2 * mean);
  context_.time.at(next, [this, mean, what] {
    if (!context_.faulty()) return;
    (this->*what)();
    every(mean, what);
  });
}

outcome world::run() {
  const moment end = judge_.judged_from() + 2 * judge_.longest_wait();
  while (!context_.found && context_.time.step(end)) {
  }
  std::optional<std::string> found;
  if (context_.found) found = print_moment(context_.found->when) + ": " + context_.found->what;
  return {.found = std::move(found),
          .steps = context_.time.steps(),
          .grants = judge_.grants(),
          .digest = context_.log.digest(),
          .last_events = context_.log.last(60)};
}

void world::audit() {
  for (auto& s : stores_) judge_.audit(*s);
  context_.time.at(context_.time.now() + 100ms, [this] { audit(); });
}

process& world::somebody() { return *processes_[context_.dice.below(processes_.size())]; }

process& world::victim() {
  process* holder = context_.dice.below(2) == 0 ? judge_.some_holder() : nullptr;
  return holder != nullptr ? *holder : somebody();
}

session_driver* world::some_session() {
  const auto& all = somebody().sessions();
  return all.empty() ? nullptr : all[context_.dice.below(all.size())].get();
}

void world::pause_somebody() {
  victim().pause(context_.dice.between(1ms, context_.setup.pause_most));
}

void world::kill_somebody() { victim().crash(); }

void world::silence_a_store() {
  auto& s = *stores_[context_.dice.below(stores_.size())];
  s.fall_silent(context_.dice.between(1ms, context_.setup.outage_most));
}

void world::cut_somebody() {
  const int s = context_.dice.index(stores_.size());
  const auto way = context_.dice.below(3);
  victim().cut(s, context_.dice.between(1ms, context_.setup.cut_most), way != 0, way != 1);
}

void world::deny_somebody() {
  if (auto* s = some_session()) s->deny();
}

void world::close_somebody() {
  if (auto* s = some_session(); s != nullptr && !s->owner().paused()) s->close();
}

void world::change_a_clock() {
  const int limit = context_.setup.drift_ppm;
  auto& machine = context_.hosts[context_.dice.below(context_.hosts.size())];
  machine.clock.set_rate(context_.time.now(), context_.dice.between(-limit, limit));
}

void world::replace_the_dead() {
  for (auto& p : processes_) {
    if (!p->alive() && context_.dice.chance(200'000)) p->start(stores_);
  }
  context_.time.at(context_.time.now() + context_.dice.between(20ms, 400ms),
                   [this] { replace_the_dead(); });
}

}  // namespace holdfast::sim
