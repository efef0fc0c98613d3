#pragma once

#include "core/backoff.hpp"
#include "core/redlock/clock_watch.hpp"
#include "core/redlock/life_notes.hpp"
#include "core/redlock/node_record.hpp"
#include "core/redlock/quorum.hpp"
#include "core/redlock/rejoin.hpp"
#include "core/redlock/server_claims.hpp"

#include <holdfast/error.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::core::redlock {

/// Which nodes of a store may vote, and how the others come back. Pure.
///
/// | standing | what is known                                        | votes |
/// |----------|------------------------------------------------------|-------|
/// | away     | not connected, or not looked at since                | no    |
/// | admitted | its record is intact and of the process that answers | in the newest epoch |
/// | marking  | it lost state: the loss is being named by a nonce    | no    |
/// | waiting  | the loss is named; rejoin waits                      | no    |
/// | joining  | rejoin seals and writes                              | no    |
/// | lagging  | intact, but in an older epoch: rejoins after a pause | no    |
/// | behind   | its clock is before the newest time that it recorded | no    |
/// | blank    | no record, and no other node has one: not set up     | no    |
/// | refused  | a replica, sentinel, duplicate, other list, evicting | no    |
///
/// A node without its record, or with another run_id and not durable, or whose clock stepped, or
/// with an epoch that nobody gives, has lost state. The loss gets a name first: a compare-and-write
/// of a fresh nonce with epoch zero, which also stops every script there, for all clients. A
/// durable node with its record intact seals and writes without a wait; when too few others can be
/// sealed for four node timeouts, and each of them was tried once, it only writes its run_id: what
/// it has is all there is, and it would be the same after a seal. So does one whose clock alone
/// stepped, after its wait, and goes back to the epoch that it had.
///
/// A durable node that restarted may have read an older file. So it is sealed for no node that lost
/// its state: it comes back first. For another one that restarted it is: after a power loss they
/// have only each other.
///
/// A node that does not sync every write any more, or does again, has that written down: after a
/// restart the record is all there is to tell whether an older file may have been loaded.
///
/// Who waited is looked at once more, at a random moment of the next node timeouts: of the clients
/// that saw its loss one brings it back, and the others find it there.
///
/// A lagging node is brought up after some node timeouts, when all were looked at once more: many
/// clients see it at the same time, and each that seals puts nodes behind for all others. The pause
/// begins anew, and twice as long, with each epoch that one of them brings.
///
/// Where no epoch has a majority, and those in all epochs are one but too few for a rejoin of any,
/// they meet in the newest: who lags is sealed in it, and nobody rejoins. A rejoin that ended
/// early, of one of those that are gone, could have done the same.
///
/// A node whose clock was set back while nobody looked has lost nothing; its scripts refuse until
/// the clock is there again. It is not asked before, and looked at while that lasts.
///
/// Who is refused is connected to anew every few seconds: its name may have led elsewhere only for
/// a moment. A server that was accepted as one node is no other one for a while: see server_claims.
///
/// With tokens off there is no record: a new run_id waits from its first sight, unless it is
/// durable and follows one that was, or with `assume_fresh` is the first there that this client
/// sees. And no process votes before the user's notes have it: else the next program, which goes by
/// the notes, could take a process that comes later for one that follows the durable one before,
/// and has all that was granted.
///
/// When a majority has no state, nothing here brings it back: verdict() says which command does,
/// and what was lost is looked at each second, to see that it was run.
///
/// Thread safety: none; one owner.
class admission {
 public:
  enum class standing : std::uint8_t {
    away,
    admitted,
    marking,
    waiting,
    joining,
    lagging,
    behind,
    blank,
    refused
  };
  struct config {
    std::size_t nodes{};
    bool tokens{true};
    bool assume_fresh{};  ///< tokens off: the first sight of a node's first process does not wait.
    duration max_ttl{};   ///< With tokens only checked against the records.
    duration timeout{};
    std::string config_hash{};
    /// For people: how the list of nodes with another hash differs; a clause, empty when that is
    /// not known. May be null.
    std::function<std::string(const std::string& hash)> difference{};
    std::uint64_t seed{};
  };
  /// A node that lags does not vote: how far a pause grows, and is put off at once.
  static constexpr duration catch_up_long = std::chrono::seconds{2};
  /// In node timeouts: the longest first pause before a node that waited is brought back.
  static constexpr int return_first = 8;
  /// So long all nodes have for a first answer, or the end of a first try to connect, before others
  /// are known to be missing: what a new program hears of near ones first proves nothing of far
  /// ones.
  static constexpr duration first_tries = std::chrono::seconds{1};
  struct step {
    std::vector<seal> seals{};
    std::vector<write> writes{};  ///< Marks and admissions alike.
    node_set look{};              ///< Read the facts of these again.
    node_set reconnect{};         ///< Look up the names of these, and connect to them, anew.
    time_point wake{time_point::max()};
  };
  /// What every script to a node carries.
  struct ballot {
    std::string nonce{};
    std::uint64_t epoch{};
  };

  admission(config c, life_notes notes = {});

  /// What earlier clients of this process saw. Before anything else.
  void recall(const life_notes& sights) { notes_.recall(sights); }
  /// The node is connected and was looked at. `fresh`: a nonce from the kernel, to name a loss with
  /// that is seen now or while this connection lasts; it is used once.
  step looked_at(node_index i, const node_facts& f, const std::string& fresh, time_point now);
  step disconnected(node_index i, time_point now);
  /// A script answered not_admitted, script_missing or epoch_moved.
  step doubted(node_index i, time_point now);
  /// A TIME that came with an answer, before the answer reaches its attempt: a grant of a node
  /// that this puts out is not counted.
  step on_time(node_index i, server_time at, time_point sent, time_point received);
  step sealed(const seal& asked, const seal_reply& r, time_point now);
  step written(const write& w, write_reply r, time_point now);
  /// An attempt to keep `asked` has ended, and the user's notes are `there` now, also by others.
  step kept(const life_notes& asked, const life_notes& there, time_point now);
  step tick(time_point now);

  /// The nodes that an attempt may ask, all in one epoch.
  node_set voters() const noexcept;
  /// Those that extend what they have: also in an older epoch, and while one that kept its state
  /// rejoins. Who lost it refuses, and so does one whose clock is behind what it recorded; to ask
  /// it means to doubt what it says, again and again, and each time its rejoin would begin anew,
  /// with another epoch for all.
  node_set keepers() const noexcept;
  std::uint64_t epoch() const noexcept { return epoch_; }
  ballot ballot_of(node_index i) const;
  standing standing_of(node_index i) const noexcept;
  /// What was read of it last, and what was written since.
  const node_facts& facts_of(node_index i) const { return nodes_.at(i).facts; }
  /// For people: why a node does not vote, and until when.
  std::string explain(node_index i, time_point now) const;
  /// Success while enough nodes vote or may soon; else why not and what to do. `away`: by node, its
  /// address and what its connection says; used for those that are away.
  result<void> verdict(time_point now, std::span<const std::string> away = {}) const;
  const life_notes& notes() const noexcept { return notes_; }
  /// A loss is being named, or others have been sealed for a node that is not written yet: who ends
  /// now leaves that to the next client, and nodes behind.
  bool busy() const noexcept;
  /// Its wait is over and it lost nothing, so it votes some node timeouts from now with or without
  /// others. Each client counts them anew: none brings it back that does not stay so long.
  bool is_returning(node_index i, time_point now) const noexcept;
  /// No majority votes, and one will within some node timeouts: its nodes meet in one epoch.
  bool may_meet() const noexcept;
  /// It lags, no majority votes, and enough others are there to bring it up within some node
  /// timeouts.
  bool is_catching_up(node_index i) const noexcept;

 private:
  /// What only some standings need of a node, by standing.
  struct refusal {
    std::string why{};                        ///< What is wrong with it.
    time_point reconnect{time_point::max()};  ///< When it is connected to anew.
  };
  struct waiting {
    time_point ready{};     ///< Until then; also of one that is behind.
    time_point alone_at{};  ///< Nothing was lost: from then on others need not be sealed.
    /// The look before it is brought back.
    enum class last_look : std::uint8_t { none, drawn, asked, done } last{last_look::none};
    time_point last_look_at{};  ///< drawn: then.
    bool lacks_others{};        ///< Too few can be sealed for it.
    unsigned returns{};         ///< So many of those looks found it lost still.
  };
  struct lagging {
    time_point catch_up{time_point::max()};  ///< When it is looked at, then brought up.
    bool looked_again{};
  };
  struct write_under_way {
    std::optional<node_record> writing{};  ///< What was sent last, of what changes its standing.
    bool adopting{};                       ///< It is of its run_id alone.
    unsigned refusals{};                   ///< In a row.
  };
  struct node_state {
    standing is{standing::away};
    node_facts facts{};
    std::string life{};               ///< The nonce that it had when it was seen last.
    server_claims::server life_of{};  ///< Whose data that was.
    time_point life_asked{};          ///< When it was asked last: that nonce was there later.
    /// It had no record when it was looked at: what its clock said since, until it has.
    std::optional<clock_watch> unrecorded{};
    bool known{};         ///< It was looked at since it was connected to, and not refused.
    bool tried{};         ///< It was looked at once, or a connection to it ended.
    std::string fresh{};  ///< A nonce to name the next loss with.
    time_point out_until{time_point::min()};  ///< tokens off: after a step of its clock.
    std::string assumed{};  ///< tokens off: the first process there, which may be assumed fresh.
    bool stepped{};         ///< Its clock did, and that is not recorded there yet.
    time_point look_at{time_point::max()};  ///< When it is read again by itself.
    refusal refused{};
    waiting wait{};
    lagging lag{};
    write_under_way under_way{};
    std::optional<rejoin> join{};

    /// Others were sealed for it, or are being, and it is not written yet.
    bool is_sealing() const noexcept {
      return join && (join->current() == rejoin::state::sealing ||
                      join->current() == rejoin::state::writing);
    }
    /// Somebody else may be about to bring it up.
    void leave_behind_until(time_point then) noexcept {
      lag.catch_up = then;
      lag.looked_again = false;
    }
  };

  /// Its record is intact and of the process that answers, in whatever epoch.
  static constexpr bool has_state(standing s) noexcept {
    return s == standing::admitted || s == standing::lagging;
  }

  // ---- admission.cpp ----
  void note_life(node_index i, time_point now);
  step judge(node_index i, time_point now);
  std::string misfit(node_index i, time_point now) const;
  static constexpr const char* of_other_list = "belongs to another list of nodes";
  void note_absence(step& s, time_point now);
  node_set refused() const noexcept;
  bool knows_as_durable(node_index i, const node_facts& f) const;
  void admit(node_index i);
  void admit_in_time(node_index i, time_point now);
  static time_point wait_over(time_point since, duration max_ttl) noexcept;
  time_point end_of_wait(node_index i, time_point now);
  void wait_from_first_sight(node_index i, time_point now);
  void begin_join(node_index i, time_point ready);
  static server_claims::server server_of(const node_facts& f);
  void take(node_index i, const rejoin::step& from, step& s, time_point now);
  void leave(node_index i);
  void stop_join(node_index i);
  node_set of_one_epoch() const noexcept;
  bool intact(node_index i) const noexcept;
  bool has_restarted(node_index i) const noexcept;
  bool only_stepped(node_index i) const noexcept;
  bool needs_operator(node_index i) const;
  std::optional<node_record> any_record() const;
  duration max_ttl_for(node_index i) const;
  duration longest_max_ttl() const;
  std::size_t count(standing what) const noexcept;
  step finish(step s, time_point now);

  // ---- admission_epochs.cpp ----
  node_record alone_record(node_index i) const;
  time_point alone_after(time_point now) const noexcept;
  bool still_waits(step& s, node_index i, time_point now);
  bool looks_first(step& s, node_index i, time_point now);
  bool has_just_begun(time_point now) const noexcept;
  bool has_tried_all(time_point now) const noexcept;
  void go_on(step& s, time_point now);
  void settle_epoch(time_point now);
  void pause_for(std::uint64_t newest, time_point now);
  void catch_up(step& s, time_point now);
  void bring_up(node_index i, step& s, time_point now);
  void meet(step& s, time_point now);
  std::vector<rejoin::other> others_of(node_index i) const;
  std::size_t missing_others(node_index i) const;
  std::uint64_t newest_epoch() const noexcept;
  void check_standings() const;
  void check_standing(const node_state& n) const;

  // ---- admission_notes.cpp ----
  step judge_without_record(node_index i, time_point now);
  void settle_without_record(node_index i, time_point now);
  bool is_kept(node_index i) const;

  // ---- admission_verdict.cpp ----
  bool beyond_waiting() const noexcept;
  std::string explain_wait(node_index i, time_point now) const;
  std::string explain_return(node_index i) const;
  std::string explain_misfit(node_index i) const;
  std::string explain_unseen(node_index i, const std::string& left) const;
  std::string those_without_vote(time_point now, std::span<const std::string> away) const;

  // ---- admission_writes.cpp ----
  std::uint64_t kept_epoch_of(node_index i) const;
  write mark(node_index i);
  write durability_of(node_index i) const;
  step not_written(node_index i, write_reply r, time_point now);

  config config_;
  life_notes notes_;
  time_point began_{time_point::max()};  ///< When a node was looked at for the first time.
  bool served_{};       ///< A majority voted once: what was taken then may be held.
  life_notes asked_{};  ///< tokens off: what kept() got last.
  life_notes there_;
  server_claims server_claims_;
  std::vector<node_state> nodes_;
  std::vector<clock_watch> clocks_;
  std::uint64_t epoch_{};
  std::uint64_t newest_{};  ///< The largest epoch that was seen, and since when.
  time_point newest_since_{};
  backoff catch_up_;
  duration catch_up_pause_{};            ///< While that is the newest.
  std::uint64_t joins_{};                ///< So many rejoins were begun.
  std::optional<node_index> joining_{};  ///< One node at a time is sealed for.
  node_set looking_{};                   ///< Looked at before one that lags is brought up.
  node_set meeting_{};                   ///< Sealed for no node, and not answered.
};

}  // namespace holdfast::core::redlock
