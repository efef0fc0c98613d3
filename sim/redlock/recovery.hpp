#pragma once

#include "core/redlock/quorum.hpp"
#include "sim/redlock/world.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::sim::redlock {

class client;

/// An operator of `holdfast redlock recover`, while nodes are away and others lose their state: the
/// program's own machines, which are a roster and `founding`.
///
/// Without a majority that votes it gives all nodes new records, and exclusion up. With one it
/// changes max_ttl (`--max-ttl`), and writes nothing where none votes.
///
/// A longer one is given while locks are held, and used by sessions that begin when a majority has
/// it. A shorter one is given only when all holders were stopped, as the documentation says.
class recovery {
 public:
  explicit recovery(world& w);
  ~recovery();

  /// Changes max_ttl once, unless the command runs.
  void run();
  /// A majority lost its state: runs the command until one votes again.
  void bring_back();
  void node_ended(core::redlock::node_index i);
  /// Nobody changes anything any more; what was lost is still brought back.
  void heal();
  /// Of a session that begins now.
  duration ttl_of_next();

 private:
  bool all_have(duration max_ttl) const;
  bool is_shorter() const noexcept { return wanted_ < allowed_; }
  void begin();
  void try_later();
  void write();
  void stop_holders();
  void end();
  void leave();

  world& world_;
  host_clock clock_{std::chrono::seconds{150}, 0};
  notes_file notes_{};
  duration wanted_;
  duration allowed_;  ///< The longest ttl of sessions that begin.
  bool lost_most_{};
  std::uint32_t runs_{};
  std::size_t written_{};
  std::unique_ptr<client> now_;
  std::vector<std::unique_ptr<client>> ended_;  ///< Their messages are still under way.
};

}  // namespace holdfast::sim::redlock
