#include "core/redlock/node_vote.hpp"

#include "core/assert.hpp"

namespace holdfast::core::redlock {

fault_action action_on(fault f) noexcept {
  switch (f) {
    case fault::none:
      return {vote::failed, false, "granted"};
    case fault::loading:
      return {vote::failed, true, "is loading its data"};
    case fault::disk_error:
      return {vote::failed, false, "cannot write to its disk (MISCONF: make room there)"};
    case fault::out_of_memory:
      return {vote::failed, false, "is out of memory (OOM: raise its maxmemory)"};
    case fault::replica:
      return {vote::failed, true, "is a replica, not a master"};
    case fault::busy_script:
      return {vote::failed, false, "is busy with a script of somebody else (BUSY)"};
    case fault::script_missing:
      return {vote::failed, true, "does not know our scripts (NOSCRIPT)"};
    case fault::credentials:
      return {vote::failed, false, "refuses our user or password"};
    case fault::permission:
      return {vote::failed, false, "does not allow our user this command or key (NOPERM)"};
    case fault::clustered:
      return {vote::failed, false, "is a node of a Redis Cluster"};
    case fault::too_few_replicas:
      return {vote::failed, false,
              "has too few replicas to accept writes (NOREPLICAS: see its min-replicas-to-write)"};
    case fault::wrong_type:
      return {vote::failed, false, "has another type of value under a key of ours (WRONGTYPE)"};
    case fault::too_many_clients:
      return {vote::failed, false, "accepts no more clients (see its maxclients)"};
    case fault::not_admitted:
      return {vote::failed, true, "is not admitted: it lost its state or has not rejoined"};
    case fault::epoch_moved:
      return {vote::failed, true, "is in another epoch"};
    case fault::ttl_too_long:
      return {vote::failed, false, "does not allow so long a ttl"};
    case fault::session_missing:
      return {vote::failed, false, "has no record of the session"};
    case fault::denied:
      return {vote::failed, false, "denies the session"};
    case fault::clock_went_back:
      return {vote::failed, true, "has set its clock back"};
    case fault::counter_full:
      return {vote::failed, false, "has no larger token left"};
    case fault::unreachable:
      return {vote::failed, false, "is not connected"};
    case fault::not_asked:
      return {vote::failed, false, "does not vote: it is away or lost its state"};
    case fault::silent:
      return {vote::unknown, false, "did not answer in time"};
    case fault::connection_lost:
      return {vote::unknown, true, "closed the connection before it answered"};
    case fault::garbled:
      return {vote::unknown, true, "sent an answer that cannot be read"};
    case fault::refused:
      return {vote::failed, false, "refused with an error"};
  }
  fail("a fault without words");
}

node_vote node_vote::granted(std::uint64_t counter) noexcept {
  node_vote v;
  v.what = vote::granted;
  v.counter = counter;
  return v;
}

node_vote node_vote::taken(duration left) noexcept {
  node_vote v;
  v.what = vote::taken;
  v.left = left;
  return v;
}

node_vote node_vote::of(fault f, std::uint64_t epoch) noexcept {
  HOLDFAST_ASSERT(f != fault::none);
  node_vote v;
  v.what = action_on(f).means;
  v.why = f;
  v.epoch = epoch;
  return v;
}

}  // namespace holdfast::core::redlock
