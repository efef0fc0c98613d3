#pragma once

namespace holdfast::core {

/// The protocol's safety rules, one switch each.
///
/// In the library every rule is a compile-time `true`, so there is nothing to switch. The simulator
/// compiles this folder a second time with HOLDFAST_MUTABLE_RULES, removes one rule at a time, and
/// must then find a violation: that is the proof that both the rule and the test matter.
struct rules {
  bool count_from_send = true;        ///< A lease counts from sending, not from the reply.
  bool prove_own_attempt = true;      ///< An earlier write that is found proves only its own send.
  bool subtract_drift = true;         ///< A holder uses less of a ttl than a successor waits.
  bool extend_only_in_time = true;    ///< A passed deadline is never extended.
  bool compare_on_take = true;        ///< Takeover deletes only the version that was seen.
  bool wait_full_ttl = true;          ///< Takeover waits ttl * (1 + rho) + margin.
  bool beat_never_revives = true;     ///< A beat of a missing record fails.
  bool confirm_after_wait = true;     ///< A woken waiter reads again before it holds.
  bool gate_unknown_enqueue = true;   ///< A late enqueue behind a moved gate does not apply.
  bool shared_watches_writer = true;  ///< A shared waiter watches the youngest older writer.
  bool permits_agree = true;          ///< All live entries of a name agree on permits and their n.
  bool refuse_denied = true;          ///< A denied session's beat is refused.
  bool check_lease_at_grant = true;   ///< A grant counts only while the session's lease runs.
  bool patrol_waits = true;           ///< A patrol takes only whom it saw silent for the full wait.
};

#if defined(HOLDFAST_MUTABLE_RULES)
inline thread_local rules active;
#else
inline constexpr rules active{};
#endif

}  // namespace holdfast::core
