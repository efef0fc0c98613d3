#include "core/redlock/node_vote.hpp"

#include "core/assert.hpp"

#include <array>

namespace holdfast::core::redlock {

namespace {

constexpr std::size_t faults = static_cast<std::size_t>(fault::refused) + 1;

// In the order of the enumeration.
constexpr std::array<fault_action, faults> actions{{
    {vote::failed, false, "granted"},
    {vote::failed, true, "is loading its data"},
    {vote::failed, false, "cannot write to its disk (MISCONF: make room there)"},
    {vote::failed, false, "is out of memory (OOM: raise its maxmemory)"},
    {vote::failed, true, "is a replica, not a master"},
    {vote::failed, false, "is busy with a script of somebody else (BUSY)"},
    {vote::failed, true, "does not know our scripts (NOSCRIPT)"},
    {vote::failed, false, "refuses our user or password"},
    {vote::failed, false, "does not allow our user this command or key (NOPERM)"},
    {vote::failed, false, "is a node of a Redis Cluster"},
    {vote::failed, false,
     "has too few replicas to accept writes (NOREPLICAS: see its min-replicas-to-write)"},
    {vote::failed, false, "has other data under this name (WRONGTYPE)"},
    {vote::failed, false, "accepts no more clients (see its maxclients)"},
    {vote::failed, true, "is not admitted: it lost its state or has not rejoined"},
    {vote::failed, true, "is in another epoch"},
    {vote::failed, false, "does not allow so long a ttl"},
    {vote::failed, false, "has no record of the session"},
    {vote::failed, false, "denies the session"},
    {vote::failed, true, "has set its clock back"},
    {vote::failed, false, "has no larger token left"},
    {vote::failed, false, "is not connected"},
    {vote::failed, false, "does not vote: it is away or lost its state"},
    {vote::unknown, false, "did not answer in time"},
    {vote::unknown, true, "closed the connection before it answered"},
    {vote::unknown, true, "sent an answer that cannot be read"},
    {vote::failed, false, "refused with an error"},
}};

}  // namespace

const fault_action& action_on(fault f) noexcept { return actions[static_cast<std::size_t>(f)]; }

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
