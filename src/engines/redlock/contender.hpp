#pragma once

#include "core/engine.hpp"
#include "core/redlock/pause.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/lines.hpp"
#include "engines/redlock/round.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace holdfast::engines::redlock {

/// One request for one lock: rounds with pauses between them until it is granted, refused for good,
/// or given up. A try has one round.
///
/// | state      | what comes next                                              |
/// |------------|--------------------------------------------------------------|
/// | lined up   | its turn                                                     |
/// | in a round | held: over; taken: resting (a try: over)                     |
/// | resting    | the pause ends, or the lock may be free: a round             |
/// | over       |                                                              |
///
/// Thread safety: every function, from any thread.
class contender final : public lined_up, public std::enable_shared_from_this<contender> {
 public:
  struct owner {
    /// The first round ended, or it stands in line: `queued`, or what became of it. Once.
    std::function<void(core::reply)> first{};
    /// It was granted; whoever is told owns the key from now on. At most once, before first() says
    /// `ok`. False when it is not wanted any more.
    std::function<bool(const round::result_of&)> held{};
    /// A grant on one more node, after held().
    std::function<void(node_index)> late{};
    /// After first() said `queued`: granted, or over for another reason. At most once.
    std::function<void(core::reply)> later{};
  };

  contender(std::shared_ptr<cluster> c, std::shared_ptr<lines> l, round::order o, bool waits,
            owner told);

  void start();
  /// Its owner does not want it any more; nothing is told afterwards.
  void cancel();
  void turn(cue what) override;

 private:
  enum class state : std::uint8_t { lined_up, in_round, resting, over };

  void begin_round();
  void round_ended(round::result_of r);
  void rest(const round::result_of& r);
  void end(core::reply what);
  std::optional<duration> pause_on(cue what);
  void begin_after(duration wait);

  const std::shared_ptr<cluster> cluster_;
  const std::shared_ptr<lines> lines_;
  round::order order_;
  const bool waits_;
  owner told_;

  std::mutex mutex_;  // Guards what is below; never held while anything is called back.
  state state_{state::lined_up};
  std::shared_ptr<round> round_;
  core::redlock::pause pause_;
  bool answered_{};  ///< first() was told.
  bool again_{};     ///< The lock may have become free during the round.
  bool called_{};    ///< The round began because it was this process' turn.
  bool lets_by_{};   ///< Others were called: the lock is not for us yet, and be it free.
  bool cancelled_{};
  std::uint64_t timer_{};
};

}  // namespace holdfast::engines::redlock
