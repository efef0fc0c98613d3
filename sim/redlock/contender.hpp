#pragma once

#include "core/lease.hpp"
#include "core/redlock/attempt.hpp"
#include "core/redlock/owed_release.hpp"
#include "core/redlock/pause.hpp"
#include "core/redlock/per_node.hpp"
#include "core/redlock/renewal.hpp"
#include "sim/redlock/node.hpp"
#include "sim/redlock/oracle.hpp"
#include "sim/schedule.hpp"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast::sim::redlock {

class client;

/// One client's wish for one lock, again and again: attempt, hold, release, rest.
class contender {
 public:
  using node_index = core::redlock::node_index;
  using node_set = core::redlock::node_set;

  contender(client& of, std::uint32_t lock) : of_(of), lock_(lock) {}

  /// Begins the next attempt after `rest`.
  void again(duration rest);
  /// Gives back what it holds and begins nothing any more.
  void stop();
  /// The lease is over.
  void lost();
  /// Node `i` said whether it has the lock.
  void heard(node_index i, bool there);
  /// Something that gives the keys a ttl is sent.
  void sent_again();
  /// A repair is sent to node `i`, where an acquire may still be under way; it is answered.
  void repair_sent(node_index i);
  void repair_answered(node_index i) { settled_.add(i); }

  std::uint32_t lock() const noexcept { return lock_; }
  std::uint64_t value() const noexcept { return value_; }
  /// Of the attempt, as the judge counts.
  std::uint64_t number() const noexcept { return number_; }
  const core::redlock::attempt& round() const noexcept { return *round_; }
  core::lease& own() noexcept { return *own_; }
  bool holds(const core::redlock::renewal::handle& h) const noexcept { return held_ == h; }
  /// check() would say ok now.
  bool valid() const;
  /// Behind its deadline a lease is over for good.
  void note_time();
  oracle::holder as_holder() const;
  bool granted_since_healed() const noexcept { return granted_healed_; }
  const oracle::beginning& began() const noexcept { return began_; }
  void connected(node_index i);
  void disconnected(node_index i);
  /// How many releases have not reached every node that may have the lock.
  std::size_t releases_owed() const noexcept { return releasing_.size(); }

 private:
  struct releasing;
  using step = core::redlock::attempt::step;
  /// Which nodes vote, and on which connections that was found out: what all requests are made
  /// from.
  struct ballots {
    node_set voters{};
    core::redlock::per_node<node::ballot> with{};
    core::redlock::per_node<std::uint64_t> connections{};
  };
  void begin();
  ballots now_voting() const;
  void ask_all();
  void split();
  void send_acquire(node_index i);
  void acquired(node_index i, const node::answer* a);
  step raise(node_index i, token to);
  void raise_later(node_index i, token to);
  void follow(step s);
  void hold();
  void give_up();
  void end();
  void release(node_set to);
  void follow(const std::shared_ptr<releasing>& r, const core::redlock::owed_release::step& s);
  void wake_at(time_point when);

  client& of_;
  std::uint32_t lock_;
  std::uint64_t value_{};
  std::uint64_t number_{};
  duration ttl_{};        ///< What this attempt asks for.
  std::uint64_t turn_{};  ///< Timers and answers of an earlier attempt are ignored.
  ballots ballots_{};
  std::optional<core::redlock::attempt> round_{};
  std::optional<core::lease> own_{};
  std::optional<core::redlock::renewal::handle> held_{};
  core::redlock::pause pause_{
      {.round = std::chrono::milliseconds{2}, .most = std::chrono::milliseconds{200}}};
  oracle::beginning began_{};
  moment granted_at_{};
  bool seen_over_{};
  bool granted_healed_{};
  bool stopped_{};
  time_point last_sent_{};
  node_set settled_{};       ///< They answered the acquire, or what was sent to repair it.
  node_set twice_{};         ///< They did not, and a repair went another way.
  time_point late_until_{};  ///< One ttl after the last such acquire was sent.
  node_set there_{};         ///< They last said that the lock is there.
  std::array<std::uint64_t, core::redlock::nodes_max> carried_{};  ///< By this connection.
  time_point wake_{time_point::max()};
  std::vector<std::shared_ptr<releasing>> releasing_{};
};

}  // namespace holdfast::sim::redlock
