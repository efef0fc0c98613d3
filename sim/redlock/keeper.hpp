#pragma once

#include "core/redlock/renewal.hpp"
#include "sim/redlock/node.hpp"
#include "sim/schedule.hpp"

namespace holdfast::sim::redlock {

class client;
class contender;

/// Drives one client's renewal: sends batches, repairs and openings, and gives contenders what they
/// lost.
class keeper {
 public:
  using node_index = core::redlock::node_index;
  using handle = core::redlock::renewal::handle;

  explicit keeper(client& of);

  void start();
  void stop() noexcept { stopped_ = true; }
  handle add(contender& c);
  void granted_late(handle h, node_index i) { renewal_.granted_late(h, i); }
  void remove(handle h) { renewal_.remove(h); }
  /// No majority has kept the session for so long that it may be denied or gone.
  bool is_over() const;

 private:
  using step = core::redlock::renewal::step;
  void follow(const step& s);
  void send(const core::redlock::renewal::batch& b);
  void answered(const core::redlock::renewal::batch& b, node_index i, const node::answer& a);
  void send(const core::redlock::renewal::repair& r);
  void reopen(node_index i);
  void lengthen_session();
  void watch_session();
  void judge();
  contender* of_handle(const handle& h);
  void tick_at(time_point when);

  client& of_;
  core::redlock::renewal renewal_;
  time_point ends_;  ///< The session, and what it may ask.
  time_point tick_{time_point::max()};
  bool stopped_{};
};

}  // namespace holdfast::sim::redlock
