#pragma once

#include "core/redlock/quorum.hpp"
#include "sim/redlock/world.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::sim::redlock {

class client;

/// An operator who changes max_ttl by `holdfast redlock recover --max-ttl`, while nodes are away
/// and others lose their state: the program's own machines, which are a roster and `founding`.
/// Nothing is written where no majority votes: exclusion would be given up.
///
/// A longer one is given while locks are held, and used by sessions that begin when a majority has
/// it. A shorter one is given only when all holders were stopped, as the documentation says.
class recovery {
 public:
  explicit recovery(world& w);
  ~recovery();

  /// Runs the command once, unless it runs.
  void run();
  void node_ended(core::redlock::node_index i);
  /// Nobody changes anything any more.
  void heal();
  /// Of a session that begins now.
  duration ttl_of_next();

 private:
  bool all_have(duration max_ttl) const;
  bool is_shorter() const noexcept { return wanted_ < allowed_; }
  void begin();
  void write();
  void stop_holders();
  void end();
  void leave();

  world& world_;
  host_clock clock_{std::chrono::seconds{150}, 0};
  duration wanted_;
  duration allowed_;  ///< The longest ttl of sessions that begin.
  std::uint32_t runs_{};
  std::size_t written_{};
  std::unique_ptr<client> now_;
  std::vector<std::unique_ptr<client>> ended_;  ///< Their messages are still under way.
};

}  // namespace holdfast::sim::redlock
