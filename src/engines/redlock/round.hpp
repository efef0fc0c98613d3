#pragma once

#include "core/redlock/attempt.hpp"
#include "core/redlock/per_node.hpp"
#include "engines/redlock/cluster.hpp"
#include "engines/redlock/stages.hpp"
#include "io/redis/redis_requests.hpp"
#include "io/thread/turn_mutex.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/token.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::engines::redlock {

/// What a key on the nodes is, and what is known of the connections that carried it: enough to
/// release it.
struct placed_key {
  std::string name{};
  std::string value{};
  duration ttl{};
  time_point last_sent{};
  node_set asked{};     ///< Those that may have it: all that were asked and did not say `taken`.
  node_set answered{};  ///< Those whose acquire cannot come any more.
  core::redlock::per_node<std::uint64_t> connections{};
  node_set twice{};  ///< There the acquire was never answered, and a repair went another way.
  time_point late_until{};  ///< One ttl after the last such acquire was sent.
};

/// How an attempt ended.
struct round_outcome {
  bool held{};
  token granted{};
  time_point until{};
  node_set there{};
  std::optional<duration> took{};  ///< From sending until what decided; if anything was sent.
  /// Where it may be, to be kept or released by whoever gets this; nothing: nowhere.
  std::optional<placed_key> key{};
  error why{errc::busy, "held"};  ///< Unless held; a short text takes no memory.
  bool denied{};                  ///< A node says that the session is denied.
  bool refused{};                 ///< It cannot be done as asked: repeating is useless.
  bool forgot{};                  ///< A node had lost its scripts, which it gets again.
  bool outdated{};        ///< Too few voted, or a node is in another epoch than those that did.
  node_set unrecorded{};  ///< They have no record of the session.
  bool endless{};         ///< What has the name is a key without a ttl.
  std::optional<duration> holder_left{};
  std::uint64_t newest_token{};  ///< The largest counter that was seen.
};

/// One attempt on the wire: it asks the voters at once, feeds the attempt machine with what comes
/// back, and tells once how it ended.
///
/// Thread safety: every function, from any thread; start() only from the one that made it.
class round final : public io::redis_receiver,
                    public staged,
                    public std::enable_shared_from_this<round> {
 public:
  struct order {
    std::string name{};
    session_id session{};
    duration ttl{};
    duration timeout{};
    std::uint64_t hint{};  ///< The largest token that this client has seen.
  };
  class listener {
   public:
    listener() = default;
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    virtual ~listener() = default;
    /// Once, on the loop's thread or on the caller of start() or cancel(); not under a mutex.
    virtual void round_ended(round_outcome&& r) = 0;
    /// A grant that came after the round was held.
    virtual void late(node_index i) = 0;
  };

  round(std::shared_ptr<cluster> c, order o, std::shared_ptr<listener> l);

  void start();
  /// `then` behind all that is given back by it; on the loop's thread if that has the round.
  void cancel(std::function<void()> then);

  void answered(std::uint64_t tag, const io::redis_answer& a) override;
  void answered_late(std::uint64_t tag, const wire::reply* r, time_point at) override;
  void run() override;
  void fetch() const noexcept override;

 private:
  using step = core::redlock::attempt::step;

  void ask() HOLDFAST_EXCLUDES(mutex_);
  void ask_all(step& s) HOLDFAST_REQUIRES(mutex_);
  void raise(step& s) HOLDFAST_REQUIRES(mutex_);
  void note_refusal(node_index i, const core::redlock::node_vote& v, const io::redis_answer& a)
      HOLDFAST_REQUIRES(mutex_);
  core::redlock::node_vote read(bool raises, node_index i, const io::redis_answer& a)
      HOLDFAST_REQUIRES(mutex_);
  void conclude(const step& s, time_point at, std::optional<round_outcome>& ended)
      HOLDFAST_REQUIRES(mutex_);
  void note_failure(round_outcome& r) const HOLDFAST_REQUIRES(mutex_);
  bool met_too_few() HOLDFAST_EXCLUDES(mutex_);
  void finish(round_outcome r) HOLDFAST_EXCLUDES(mutex_);

  const std::shared_ptr<cluster> cluster_;

  // Never held while anything is called back. What each answer needs is first: a thousand rounds
  // do not stay in the processor's cache.
  io::turn_mutex mutex_;
  node_set answered_ HOLDFAST_GUARDED_BY(mutex_);  ///< The acquire's fate there is known.
  node_set taken_ HOLDFAST_GUARDED_BY(mutex_);
  node_set asked_ HOLDFAST_GUARDED_BY(mutex_);  ///< The voters without those that are silent.
  /// It waits for the stage in which things are sent.
  bool asks_later_ HOLDFAST_GUARDED_BY(mutex_){};
  bool cancelled_ HOLDFAST_GUARDED_BY(mutex_){};  ///< Perhaps before it asked anybody.
  bool asked_any_ HOLDFAST_GUARDED_BY(mutex_){};  ///< Something was sent.
  std::uint64_t newest_token_ HOLDFAST_GUARDED_BY(mutex_){};
  std::optional<core::redlock::attempt> attempt_ HOLDFAST_GUARDED_BY(mutex_);
  std::shared_ptr<const ballots> ballots_ HOLDFAST_GUARDED_BY(mutex_);
  time_point deadline_ HOLDFAST_GUARDED_BY(mutex_){};
  time_point raise_deadline_ HOLDFAST_GUARDED_BY(mutex_){};  ///< Of the last raise.
  /// Until its listener hears of it, as the next one.
  time_point decided_at_ HOLDFAST_GUARDED_BY(mutex_){};
  node_set owes_ HOLDFAST_GUARDED_BY(mutex_){};     ///< Where it is to be released.
  std::string denial_ HOLDFAST_GUARDED_BY(mutex_);  ///< Who denied the session and why, for people.
  /// What the first node said that refused the command or its user.
  std::string refusal_ HOLDFAST_GUARDED_BY(mutex_);

  order order_ HOLDFAST_GUARDED_BY(mutex_);  ///< Its name goes to the outcome, as the value does.
  std::string value_ HOLDFAST_GUARDED_BY(mutex_);
  const std::shared_ptr<listener> listener_;
};

}  // namespace holdfast::engines::redlock
