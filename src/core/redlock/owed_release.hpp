#pragma once

#include "core/backoff.hpp"
#include "core/redlock/node_vote.hpp"
#include "core/redlock/per_node.hpp"
#include "core/redlock/quorum.hpp"

#include <cstdint>

namespace holdfast::core::redlock {

/// The release of one value on every node that may have it; owed until it is certain or over. Pure.
///
/// Per node: owed -> sent -> settled. An error, a lost connection or silence makes it owed again.
/// "It was not there" settles only what was sent behind the acquire on the same connection, or what
/// had been answered: after a lost connection the node may still read the old acquire, so the
/// release is repeated until sent + ttl. Where a repair was sent as well, over another connection,
/// that it was there settles nothing either until the old acquire's sent + ttl: that may bring it
/// back. Compare-and-delete of a value that is used once is harmless however often it comes.
///
/// Thread safety: none; one owner. The caller of the lock need not wait for it.
class owed_release {
 public:
  struct config {
    duration ttl{};
    duration timeout{};    ///< The node timeout.
    std::uint64_t seed{};  ///< Spreads the repetitions.
  };
  /// What is known of one node when the release starts.
  struct trace {
    std::uint64_t connection{};  ///< The one that carried the acquire; counts up with reconnects.
    bool settled_before{};  ///< The acquire (or an extension) was answered: it cannot come late.
    /// It may come late although something else has set the key: until one ttl after it was sent.
    time_point late_until{time_point::min()};
  };
  struct step {
    node_set send{};                     ///< Send compare-and-delete to these now.
    bool finished{};                     ///< Nothing is owed any more; said once.
    time_point wake{time_point::max()};  ///< Call tick() then.
  };
  enum class outcome : std::uint8_t {
    pending,
    released,  ///< No node has it: deleted, or certainly not there.
    expires,   ///< Some node never answered; its key is over by until().
  };

  /// `last_sent`: when anything that gives the key a ttl was last sent.
  owed_release(config c, node_set to, time_point last_sent);

  void trace_of(node_index i, trace t) noexcept { traces_[i] = t; }
  /// `up`: the nodes that are connected.
  step start(node_set up, time_point now);
  /// `deleted`: it was there and is gone. `connection`: the one that answered.
  step answered(node_index i, bool deleted, std::uint64_t connection, time_point now);
  /// An error reply, silence past the node timeout, or a lost connection.
  step failed(node_index i, time_point now);
  /// An error after which it need not pause: it goes out again at once.
  step refused(node_index i, time_point now);
  /// The node is connected (again): what is owed there goes out at once.
  step connected(node_index i, time_point now);
  step disconnected(node_index i, time_point now);
  step tick(time_point now);

  node_set owed() const noexcept { return owed_; }
  /// Those that are connected, as far as it knows.
  node_set up() const noexcept { return up_; }
  time_point until() const noexcept { return until_; }
  outcome result() const noexcept;

 private:
  step next(node_set send, time_point now);

  node_set owed_;  ///< Not settled.
  node_set under_way_;
  node_set up_;
  bool reported_{};  ///< That it is finished.
  bool over_{};
  time_point until_;
  time_point resend_{time_point::max()};
  per_node<trace> traces_{};
  config config_;
  backoff pause_;
};

}  // namespace holdfast::core::redlock
