#pragma once

#include "core/redlock/node_vote.hpp"
#include "core/redlock/per_node.hpp"
#include "core/redlock/quorum.hpp"

#include <holdfast/error.hpp>
#include <holdfast/token.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::core::redlock {

/// One round of acquiring one lock: all nodes at once, one value, one send time. Pure.
///
/// | state    | waits for               | then                                                    |
/// |----------|-------------------------|---------------------------------------------------------|
/// | asking   | answers                 | a majority granted: token off: held; on: T and raising  |
/// | raising  | answers, raises         | a majority is confirmed at >= T: held                   |
/// | held     |                         | late grants still count for time, see granted()         |
/// | failed   |                         |                                                         |
///
/// From asking and raising it fails as soon as a majority is impossible, at the node timeout, on a
/// cancel, and when a majority came but no validity is left. It is decided once, as early as it is
/// certain; nobody waits for a slow node.
///
/// Tokens (docs/safety.md has the proof). T >= the counter of **every** node that is counted; a
/// node that answered with a smaller one is counted only after a raise(T) that its script did while
/// it still held our value; a node that answers later with a larger one is not counted. When too
/// few can be confirmed at T, but enough hold our value, T is chosen anew: it was not used yet.
///
/// A value is never used for two attempts, so an answer can only be this attempt's. All requests
/// carry one epoch: votes of different epochs never make one majority.
///
/// A node is judged on one connection, and only what that one carries counts: behind another there
/// may be another process, which lost its state. The numbers of connections are the caller's, zero
/// is none.
///
/// Thread safety: none; one owner.
class attempt {
 public:
  struct config {
    std::size_t nodes{};  ///< Configured, not connected.
    duration ttl{};
    duration timeout{};  ///< The node timeout; far below the ttl.
    bool tokens{true};
  };
  enum class state : std::uint8_t { asking, raising, held, failed };
  struct step {
    bool decided{};    ///< Held or failed, said once.
    node_set raise{};  ///< Send raise(token()) to these.
    /// Queue a release behind the acquire of these: all that were asked and did not answer `taken`,
    /// the ones that never answered included. Only when it failed.
    node_set release{};
    time_point wake{time_point::max()};  ///< Call tick() then.

    /// What a later step wants done is wanted as well.
    void add(const step& later) noexcept {
      decided = decided || later.decided;
      raise = raise | later.raise;
      release = release | later.release;
      wake = later.wake;
    }
  };

  /// The requests go to `asked`; the others count as failed. `sent` is read before the first of
  /// them leaves the process.
  attempt(config c, node_set asked, time_point sent);

  /// Once, before any answer: decides at once when `asked` is no majority.
  step start(time_point now);
  /// `by` carries the acquire of node `i`, which was judged on the connection `judged`; before its
  /// answer comes. Without this no grant of the node counts.
  void carried(node_index i, std::uint64_t judged, std::uint64_t by);
  /// The answer of the acquire, whatever became of it. At most one per node counts.
  step answered(node_index i, const node_vote& v, time_point now);
  /// What an answer of the acquire is worth, also one that comes after answered() got none.
  node_vote counted(node_index i, const node_vote& v) const noexcept;
  /// `by` carries a raise to `to`. On another connection than the acquire's the key may be one that
  /// was restored: then it is not done there, whatever the answer says.
  step raise_carried(node_index i, token to, std::uint64_t by, time_point now);
  /// The answer of a raise to `to`.
  step raised(node_index i, token to, const node_vote& v, time_point now);
  step tick(time_point now);
  step cancel();

  state current() const noexcept { return state_; }
  bool decided() const noexcept { return state_ == state::held || state_ == state::failed; }
  /// The token once chosen; the grant's once held. Zero with tokens off.
  token chosen() const noexcept { return token_; }
  /// The first moment at which the holder must no longer act.
  time_point until() const noexcept;
  time_point sent() const noexcept { return sent_; }
  /// Where our value is known to be, late answers included: each protects until until(). Not where
  /// a raise did not find it any more.
  node_set granted() const noexcept { return granted_ - robbed_; }
  /// Where it is confirmed at >= chosen(); with tokens off the same as granted().
  node_set confirmed() const noexcept { return confirmed_; }
  /// Why it failed, node by node; meaningful when failed. `subject` is how the message begins
  /// (`lock "nightly"`), `addresses` has one entry per node.
  holdfast::error failure(std::string_view subject, std::span<const std::string> addresses) const;
  /// The longest that a node said the holder's key has to live; nothing when none did.
  std::optional<duration> holder_left() const noexcept;
  /// A node that has a key in the way says that it has no ttl; endless_key is what is said then.
  bool meets_endless() const noexcept;
  static constexpr std::string_view endless_key =
      "that key has no ttl: it is no lock of a Redlock client, and stays until somebody deletes it";
  /// Why a node did not grant; of a grant without a counter nothing is kept here.
  const node_vote& vote_of(node_index i) const noexcept { return votes_[i]; }
  /// The connections that carried the acquires.
  const per_node<std::uint64_t>& carriers() const noexcept { return carriers_; }

 private:
  step decide(time_point now);
  step choose(time_point now);
  step hold(time_point now);
  step fail(errc why);
  step rest() const noexcept;
  node_set alive() const noexcept { return granted_ - gone_; }
  /// Those whose own counter is not above the token.
  node_set countable() const noexcept;
  std::size_t needed() const noexcept;
  errc reason(node_set pending) const noexcept;

  // Every answer looks at all of these; together they stay in the processor's cache.
  config config_;
  time_point sent_;
  time_point counts_from_;
  time_point limit_;
  node_set asked_;
  node_set as_judged_;  ///< Asked on the connection on which they were judged.
  node_set answered_;
  node_set granted_;
  node_set taken_;
  node_set gone_;    ///< Granted, and then a raise was not done there.
  node_set robbed_;  ///< Those of them where the raise did not find our value.
  node_set confirmed_;
  node_set raising_;  ///< A raise to token_ is under way.
  state state_{state::asking};
  bool too_late_{};
  bool timed_out_{};
  errc why_{};
  token token_{};

  per_node<node_vote> votes_{};  ///< As vote_of() says.
  per_node<std::uint64_t> carriers_{};
};

}  // namespace holdfast::core::redlock
