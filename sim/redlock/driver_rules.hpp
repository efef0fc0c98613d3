#pragma once

namespace holdfast::sim::redlock {

/// The safety rules that neither a machine nor a script keeps but who drives them, one switch each:
/// here `client`, `contender`, `roster` and `world`, which do what src/engines/redlock, src/client
/// and src/io do in the program. The program's own code for them has its tests beside it.
struct driver_rules {
  bool fresh_value = true;           ///< No attempt has the value of another.
  bool stop_before_release = true;   ///< The holder stops before its release is sent.
  bool deny_enough = true;           ///< A denial reaches N - Q + 1 nodes.
  bool ask_in_session = true;        ///< A session that is over asks nothing more.
  bool count_suspend = true;         ///< A lease runs on while the client's machine sleeps.
  bool nonce_for_each_loss = true;   ///< No two losses of a node have one name.
  bool time_of_answers = true;       ///< A grant counts when the TIME that it brings was judged.
  bool connection_dies = true;       ///< No request reaches another process than it was sent to.
  bool stop_before_lowering = true;  ///< A shorter max_ttl is given when nobody holds a lock.
};

inline thread_local driver_rules drivers;

}  // namespace holdfast::sim::redlock
