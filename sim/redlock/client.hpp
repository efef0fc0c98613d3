#pragma once

#include "sim/redlock/contender.hpp"
#include "sim/redlock/driver_rules.hpp"
#include "sim/redlock/keeper.hpp"
#include "sim/redlock/roster.hpp"
#include "sim/redlock/world.hpp"

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::sim::redlock {

/// One process: connections, a roster of nodes, a keeper of what it holds, and a contender for each
/// lock. The driver around the machines, as src/engines/redlock has one with sockets.
class client {
 public:
  using node_index = core::redlock::node_index;

  /// `ttl`: of its session; without one it has none and wants no lock, like an operator's command.
  client(world& w, int place, std::uint32_t session, host_clock& clock, notes_file& notes,
         duration ttl);

  void start();
  /// The process is gone: what it sent goes on, and nothing here happens any more.
  void die() noexcept { dead_ = true; }
  /// Not longer than it does already: what waits for its end would come in another order.
  void stand_still_until(moment then) noexcept;
  moment stands_still_until() const noexcept { return paused_; }
  bool is_dead() const noexcept { return dead_; }
  void node_ended(node_index i);
  void cut_off(node_index i, moment until) noexcept { links_[i].cut_until = until; }
  void carry_to(node_index i, node_index other) noexcept { links_[i].leads_to = other; }
  void disconnect(node_index i);
  void close();
  /// Nothing keeps it from any node any more.
  void heal();

  world& of() noexcept { return world_; }
  int place() const noexcept { return place_; }
  std::uint32_t session() const noexcept { return session_; }
  duration ttl() const noexcept { return ttl_; }
  roster& nodes() noexcept { return roster_; }
  keeper& held() noexcept { return keeper_; }
  contender& of_lock(std::uint32_t lock) { return *contenders_[lock]; }
  const std::vector<std::unique_ptr<contender>>& contenders() const noexcept { return contenders_; }
  bool up(node_index i) const noexcept { return links_[i].up; }
  std::uint64_t connection(node_index i) const noexcept { return links_[i].number; }

  time_point local() const { return clock_.read(world_.time.now()) - slept(); }
  /// Runs `task` then, or when the process goes on.
  template <class Task>
  void post(moment when, Task task);
  template <class Task>
  void at_local(time_point when, Task task);

  /// Runs `script` at the node that the connection leads to; `done` gets its answer and the
  /// connection, or nullptr when none came for `patience`. Called once.
  template <class Script, class Done>
  void ask(node_index i, duration patience, Script script, Done done);

 private:
  struct link {
    bool up{};
    std::uint64_t number{};
    std::uint64_t life{};
    node_index leads_to{};
    moment cut_until{};
    moment last_arrival{};
    moment last_answer{};
    bool breaks{};  ///< Nothing that is sent from now on is answered,
    bool loses{};   ///< or read.
  };
  void connect(node_index i);
  void break_off(node_index i);
  /// What the clock does not know of.
  duration slept() const noexcept;

  world& world_;
  int place_;
  std::uint32_t session_;
  duration ttl_;
  host_clock& clock_;
  bool dead_{};
  moment paused_{};
  moment paused_since_{};
  duration slept_before_{};  ///< That pause, unless sleep counts.
  std::vector<link> links_;
  roster roster_;
  keeper keeper_;
  std::vector<std::unique_ptr<contender>> contenders_;
};

template <class Task>
void client::post(moment when, Task task) {
  world_.time.at(when, [this, task = std::move(task)]() mutable {
    if (dead_) return;
    if (world_.time.now() < paused_) return post(paused_, std::move(task));
    for (const auto& c : contenders_) c->note_time();
    task();
  });
}

template <class Task>
void client::at_local(time_point when, Task task) {
  // A microsecond more, so that a timer never comes early by rounding and is set again.
  const moment then = clock_.when(when + slept()) + std::chrono::microseconds{1};
  post(std::max(then, world_.time.now() + std::chrono::microseconds{1}), std::move(task));
}

template <class Script, class Done>
void client::ask(node_index i, duration patience, Script script, Done done) {
  using reply = std::invoke_result_t<Script, world::host&>;
  struct question {
    Script script;
    Done done;
    bool open;
    reply got;
  };
  auto q = std::make_shared<question>(question{std::move(script), std::move(done), true, {}});
  link& l = links_[i];
  const std::uint64_t number = l.number;
  const moment now = world_.time.now();
  post(l.up ? now + patience : now, [q, number] {
    if (std::exchange(q->open, false)) q->done(static_cast<const reply*>(nullptr), number);
  });
  if (!l.up) return;
  const bool breaks = !l.breaks && !world_.healed() && world_.dice.chance(world_.setup.reset);
  if (breaks) break_off(i);
  if (l.loses) return;
  const moment leaves = std::max({l.cut_until, world_.at(i).unreachable_until, now});
  l.last_arrival = world_.arrival(i, l.last_arrival, leaves);
  // The next connection may be served first.
  if (breaks) l.last_arrival += world_.dice.between(duration{}, world_.setup.ttl);
  world_.time.at(l.last_arrival, [this, i, q, number, life = l.life, silent = l.breaks] {
    link& back = links_[i];
    world::host& h = world_.at(back.number == number ? back.leads_to : i);
    const bool died = back.leads_to == i && h.life != life && drivers.connection_dies;
    if (h.gone || died) return;
    h.server.set_time(world_.wall_of(h));
    const milliseconds before = h.server.longest();
    q->got = q->script(h);
    world_.judge.keeps(before, h.server.longest(), world_.setup.overlong > 0 ? 4 * ttl_ : ttl_);
    if (silent || back.number != number) return;
    const moment answers =
        std::max({back.cut_until, world_.at(i).unreachable_until, world_.time.now()});
    back.last_answer = world_.arrival(i, back.last_answer, answers);
    post(back.last_answer, [this, i, q, number] {
      if (links_[i].number != number) return;
      if (std::exchange(q->open, false)) q->done(&std::as_const(q->got), number);
    });
  });
}

}  // namespace holdfast::sim::redlock
