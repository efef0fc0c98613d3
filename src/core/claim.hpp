#pragma once

#include "core/backoff.hpp"
#include "core/engine.hpp"
#include "core/lease.hpp"
#include "core/sightings.hpp"

#include <holdfast/error.hpp>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace holdfast::core {

/// What a claim asks its driver to do. One action at a time, except that a claim at rest also
/// listens to notify, tick and cancel.
namespace act {

struct enqueue {
  bool leave_if_busy{};
};
/// Look at these sessions' life locks; answer with those that are provably dead. Who was seen to
/// live not longer than `age` ago, by another claim of the process say, need not be looked at.
struct probe {
  std::vector<rival> whom;
  duration age{};  ///< Zero: nothing but a look now will do.
};
/// Compare-and-delete.
struct take {
  session_id id;
  version seen;
  bool broken{};  ///< It was proven dead; else it was silent for its ttl.
};
/// Arm a watch on `targets` in place of the earlier one, then rest. `whom` are their sessions: the
/// driver may also watch their processes and call notified() when one seems to have ended.
struct watch {
  std::vector<token> targets{};
  std::vector<rival> whom{};
};
struct confirm {};
struct leave {
  bool move_gate{};
  bool asks_who{};  ///< As leave_request::asks_who.
};
/// Do nothing until notified, tick at wake(), cancel or session_over.
struct rest {};
/// The end: granted, or `why` not.
struct finish {
  errc why{errc::busy};
  std::string text{};
  bool needs_operator{};         ///< As reply::needs_operator.
  bool granted{};                ///< Then `why` says nothing.
  token held{};                  ///< Zero for a grant of an engine without tokens.
  std::shared_ptr<lease> own{};  ///< As queue_view::own.
};

}  // namespace act

using action = std::variant<act::enqueue, act::probe, act::take, act::watch, act::confirm,
                            act::leave, act::rest, act::finish>;

/// One acquire of one name, from the first enqueue to a token or a reason. Pure.
///
/// | state      | what it waits for                | then                                         |
/// |------------|----------------------------------|----------------------------------------------|
/// | enqueuing  | the reply                        | granted: finish; held: probing; gate: again  |
/// | pausing    | tick, cancel                     | enqueuing again, or finish at the limit      |
/// | probing    | which rivals are provably dead   | taking, else watching (or busy, for a try)   |
/// | taking     | compare-and-delete of one rival  | confirming (or enqueuing again, for a try)   |
/// | watching   | notify, tick, cancel             | confirming, probing, taking or leaving       |
/// | confirming | who is ahead now                 | granted: finish; else probing                |
/// | leaving    | our entry is gone                | finish with the reason kept before           |
/// | lingering  | tick, cancel                     | leaving again, or finish at the limit        |
///
/// A waiter whose enqueue was not done pauses and tries again until its limit, then finishes with
/// `unavailable`; a try ends at once. A leave that is not answered is repeated three times, because
/// the entry would block everybody behind it until the session ends.
///
/// After a cancel or the limit nothing is asked of a store that has just not answered: the claim
/// ends with that reply, and the leave is owed: the driver sends it, and nobody waits for it. One
/// that answers is left with a leave, once.
///
/// A poll looks at the life locks of the watched rivals alone: with n waiters, n reads of a queue
/// of n entries would be n^2 work each time. The store is read after a notification, when a rival
/// was silent for its ttl, and by one poll in a quarter of the rivals' ttl, 4 s at most (with n
/// ahead at most by every n/4-th), because what a rival stopped doing is counted from a read on.
/// After a notification the polls come quickly at first and then ever more slowly: a process that
/// seems to have ended may leave children that hold its life lock for some milliseconds more. A
/// waiter that sees nobody ahead has nothing to probe: the engine keeps the queue, and the waiter
/// reads when it is notified and else every 4 s.
///
/// A wait that ends while the last read of the store had failed ends with `unavailable` and that
/// read's text, for nobody can say that the name was held.
///
/// Rules it keeps (docs/protocol.md): a grant counts only while the session's lease runs, and its
/// own if it has one; after a wait one more read confirms; an unknown enqueue moves the gate before
/// anything else; a dead rival is broken before anybody is called busy; all older sessions'
/// versions are noted, so that many dead owners fall together; takeovers compare the version that
/// was seen. A cancel or a limit that comes while an operation is under way is obeyed when its
/// reply is there.
///
/// Thread safety: none; calls are serialised by the owner.
class claim {
 public:
  struct config {
    mode how{mode::exclusive()};
    bool waits{};                                   ///< False: a try.
    time_point give_up{time_point::max()};          ///< When a wait ends with timed_out.
    duration poll{std::chrono::milliseconds{250}};  ///< How often a waiter looks by itself.
    std::uint64_t seed{};  ///< Spreads the pauses: different for each claim.
  };

  /// `own` is the session's lease.
  claim(config c, lease& own);

  action start(time_point now);
  action enqueued(const queue_view& v, time_point now);
  action probed(const std::vector<session_id>& dead, time_point now);
  action taken(const session_id& id, const take_reply& r, time_point now);
  action confirmed(const queue_view& v, time_point now);
  action left(const leave_reply& r, time_point now);

  /// Only while at rest; at another time they are remembered, or answered with rest.
  action notified(time_point now);
  action tick(time_point now);
  action cancel();
  action session_over(errc why, std::string text);

  /// When tick() is due; meaningful while at rest.
  time_point wake() const noexcept;
  bool at_rest() const noexcept;
  bool finished() const noexcept;
  /// Our entry's order once enqueued, else zero.
  token order() const noexcept { return entry_.order; }
  /// It rests with its entry in the queue.
  bool queued() const noexcept { return state_ == state::watching; }
  /// True at the end when the leave was not answered, or not sent. The entry may still be there and
  /// would block the name for as long as the session lives, so the driver repeats the same leave
  /// until it is answered or the session is over; the caller need not wait for that.
  bool owes_leave() const noexcept { return entry_.owed; }
  /// It was not sent so far. That need not pause: an engine may have said by itself that its store
  /// does not answer, and an entry that it keeps is gone as soon as the leave is sent.
  bool leave_unsent() const noexcept { return entry_.owed && entry_.leaves == 0; }
  /// That leave has to move the gate, for the enqueue's own outcome is unknown.
  bool owes_gate() const noexcept { return entry_.owed && entry_.unknown; }
  /// Live entries ahead at the last look, oldest first, and the session of the oldest.
  const std::vector<rival>& ahead() const noexcept { return seen_.ahead; }
  const std::shared_ptr<const session_record>& first() const noexcept { return seen_.first; }
  /// Where others have the name at the end: what to keep for the next claim of this host.
  const sightings& notes() const noexcept { return notes_; }
  /// What earlier claims saw of those ahead; before enqueued() gets the reply that names them.
  void recall(const sightings& earlier) {
    for (const auto& [id, sight] : earlier.all()) notes_.recall(id, sight);
  }

 private:
  enum class state : std::uint8_t {
    idle,
    enqueuing,
    pausing,
    probing,
    taking,
    watching,
    confirming,
    leaving,
    lingering,
    finished
  };

  struct reason {
    errc why{errc::busy};
    std::string text{};
    bool needs_operator{};
  };
  static reason reason_of(const reply& r);

  /// What is known of our entry in the store.
  struct own_entry {
    token order{};
    bool entered{};  ///< It is in the store, or may be.
    bool unknown{};  ///< May be: the enqueue was not answered.
    bool again{};    ///< Enqueue again once it is gone.
    bool owed{};     ///< A leave of it.
    int leaves{};    ///< So many were sent.

    void check() const;
  };

  /// The queue as the last view showed it, and what came after that view.
  struct seen_queue {
    std::vector<rival> ahead{};
    std::vector<token> targets{};
    std::vector<rival> watched{};  ///< Those of `ahead` that are in `targets`.
    std::shared_ptr<const session_record> first{};
    std::string held_by{};          ///< What the store says of the holder, if it does.
    std::optional<reason> blind{};  ///< Why the last read failed.
    bool removed{};                 ///< Somebody ahead fell since.
    bool armed{};                   ///< A watch was asked for since.
  };

  /// When a waiter looks by itself.
  struct polling {
    time_point next_poll{};
    duration interval{};   ///< From coming to rest to the next poll.
    time_point rested{};   ///< When it came to rest; what was due before waits for the poll.
    time_point read_at{};  ///< No poll reads the store before.
    int polls{};           ///< Since the last view.
  };

  /// Nothing of ours is in the store, as far as is known.
  action enqueue_again();
  action arrive(const queue_view& v, time_point now);
  /// The queue is as `v` shows it; what was noted of those who are not ahead is dropped.
  void take_view(const queue_view& v, time_point now);
  action try_later(reason why, time_point now);
  /// Looks at the life locks of those who are watched, and reads the store more rarely.
  action poll(time_point now);
  int polls_until_read() const noexcept;
  /// From outside, in any state. Where an answer is still to come the reason waits for it.
  action stop(reason why);
  std::string held_text() const;
  action next_take(time_point now);
  /// Everybody who is dead was taken: rests until somebody is notified, or it is time to look.
  action settle(time_point now);
  bool time_is_up(time_point now);
  action walk_away();
  action outcome_unknown();
  action end_lingering();
  time_point poll_due() const noexcept;
  /// The store has granted. `own`: the lock's own lease, null where the session's counts.
  action grant(const std::shared_ptr<lease>& own, time_point now);
  /// Sends the leave, one more time.
  action give_back();
  /// Leaves the entry if it may be there, and ends with `why`.
  action leave(reason why);
  /// Ends without the lock. What may be in the store by then is owed.
  action finish(reason why);
  /// The store will say the same of every further try.
  action refused(const queue_view& v);
  void check() const;

  config config_;
  lease& lease_;
  sightings notes_;
  state state_{state::idle};
  own_entry entry_{};
  seen_queue seen_{};
  polling pacing_;
  std::optional<reason> pending_{};  ///< A cancel or end that waits for a reply.
  reason outcome_{};                 ///< What to say when the leave is done.
  std::vector<act::take> takes_{};   ///< Dead or due rivals not yet taken.
  bool notified_{};
  time_point resume_{};  ///< When a pause ends.
  backoff pause_;
  int rounds_{};
};

}  // namespace holdfast::core
