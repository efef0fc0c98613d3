#pragma once

namespace holdfast::core::redlock {

/// Redlock's safety rules, one switch each; see core/rules.hpp for how they are removed.
///
/// What each removal breaks was first shown by model checking (docs/safety.md).
struct rules {
  bool count_from_send = true;         ///< A grant's ttl counts from sending, not from the reply.
  bool majority_of_configured = true;  ///< The quorum comes from the configured list.
  bool raise_before_use = true;        ///< Every counted node is at >= T before T is used.
  bool late_counter_never_counts = true;  ///< A node whose own counter is above T is not counted.
  bool judged_connection_only = true;     ///< A grant counts only from where its node was judged,
  bool raise_on_same_connection = true;   ///< ... and a raise only from where its acquire went.
  bool raise_checks_epoch = true;         ///< A raise of an earlier epoch is refused.
  bool acquire_checks_epoch = true;       ///< So is an acquire.
  bool refuse_lost_state = true;    ///< A node without its record does not vote until it rejoined.
  bool wait_before_rejoin = true;   ///< It waits max_ttl * (1 + rho) + margin from the first sight.
  bool wait_full_time = true;       ///< ... all of it.
  bool wait_by_longest = true;      ///< ... by the longest max_ttl of all records that are known,
  bool wait_by_seen_later = true;   ///< ... also of those that are seen until it is sealed for.
  bool rejoin_with_longest = true;  ///< Its new record allows as much: a longer max_ttl stays.
  bool wait_then_seal = true;       ///< Floors are read after the wait, not before.
  bool ask_only_seen = true;        ///< Only nodes vote that were read in the attempt's epoch.
  bool seal_others = true;          ///< A rejoin begins an epoch, not only reads the floors.
  bool seal_enough_others = true;   ///< At least floor((N - 1) / 2) + 1 others are sealed.
  bool seal_only_admitted = true;   ///< A node that itself lost state is not sealed.
  bool rejoin_restarted_first = true;  ///< Nor, for one that did, who may have an older file.
  bool fresh_epoch = true;  ///< init and recover begin one that no counter in an older file has.
  bool late_grant_from_attempt = true;  ///< A late grant counts from the attempt that it answers.
  bool prove_own_attempt = true;        ///< The answer to an extension proves no later one.
  bool renew_by_compare = true;         ///< An extension never re-creates a key.
  bool drop_lost_nodes = true;          ///< A node that lost the key or session stops counting.
  bool per_node_deadlines = true;       ///< Key and session hold on the same majority of nodes.
  bool repair_with_majority = true;     ///< A lost node is re-added only while a majority confirms.
  bool settle_behind_acquire = true;    ///< "It is not there" is final only behind the acquire;
  bool settle_after_repair = true;      ///< ... "deleted" only when no acquire can come after it.
  bool count_servers_once = true;       ///< A server that grants as one node is no other node.
  bool step_like_restart = true;        ///< A node whose clock stepped is put out like a restart.
  bool step_since_last_look = true;     ///< ... also one that is small beside all that was watched.
  bool loss_beside_step = true;      ///< Who stepped and may have lost writes has lost its state.
  bool damage_is_loss = true;        ///< So has a node with a floor or an epoch that nobody gives.
  bool session_by_majority = true;   ///< A session is kept as long as a majority has said.
  bool seal_of_its_life = true;      ///< The answer to a seal is of the life that was sealed.
  bool record_is_no_step = true;     ///< The record that another wrote is no step of the clock.
  bool answer_of_its_write = true;   ///< An answer says nothing of the write that followed it.
  bool vote_after_note = true;       ///< tokens off: no process votes that the notes do not have.
  bool lost_notes_stay_lost = true;  ///< A note that was lost says less when it is added again.
  bool look_for_recover = true;      ///< What only an operator brings back is looked at meanwhile.
  bool meet_in_one_epoch = true;     ///< A majority in several epochs meets in one, without others.
};

#if defined(HOLDFAST_MUTABLE_RULES)
inline thread_local rules active;
#else
inline constexpr rules active{};
#endif

}  // namespace holdfast::core::redlock
