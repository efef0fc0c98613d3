#include "core/redlock/node_vote.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::core::redlock {

namespace {

constexpr std::size_t faults = static_cast<std::size_t>(fault::refused) + 1;

// In the order of the enumeration.
constexpr std::array<fault_action, faults> actions{{
    {vote::failed, false, false, "granted"},
    {vote::failed, true, false, "is loading its data"},
    {vote::failed, false, true, "cannot write to its disk (MISCONF)"},
    {vote::failed, false, true, "is out of memory (OOM)"},
    {vote::failed, true, true, "is a replica, not a master"},
    {vote::failed, false, false, "is busy with a script of somebody else (BUSY)"},
    {vote::failed, true, false, "does not know our scripts (NOSCRIPT)"},
    {vote::failed, false, true, "refuses our user or password"},
    {vote::failed, false, true, "does not allow our user this command or key (NOPERM)"},
    {vote::failed, false, true, "is a node of a Redis Cluster"},
    {vote::failed, false, true, "has too few replicas to accept writes (NOREPLICAS)"},
    {vote::failed, false, true, "has other data under this name (WRONGTYPE)"},
    {vote::failed, false, false, "accepts no more clients"},
    {vote::failed, true, false, "is not admitted: it lost its state or has not rejoined"},
    {vote::failed, true, false, "is in another epoch"},
    {vote::failed, true, true, "belongs to another list of nodes"},
    {vote::failed, false, true, "does not allow so long a ttl"},
    {vote::failed, false, false, "has no record of the session"},
    {vote::failed, false, true, "denies the session"},
    {vote::failed, true, false, "has set its clock back"},
    {vote::failed, false, true, "has no larger token left"},
    {vote::failed, false, false, "is not connected"},
    {vote::failed, false, false, "does not vote: it is away or lost its state"},
    {vote::unknown, false, false, "did not answer in time"},
    {vote::unknown, true, false, "closed the connection before it answered"},
    {vote::unknown, true, true, "sent an answer that cannot be read"},
    {vote::failed, false, true, "refused with an error"},
}};

constexpr std::array<std::pair<std::string_view, fault>, 25> words{{
    {"LOADING", fault::loading},
    {"MISCONF", fault::disk_error},
    {"OOM", fault::out_of_memory},
    {"READONLY", fault::replica},
    {"MASTERDOWN", fault::replica},
    {"BUSY", fault::busy_script},
    {"UNKILLABLE", fault::busy_script},
    {"NOSCRIPT", fault::script_missing},
    {"NOAUTH", fault::credentials},
    {"WRONGPASS", fault::credentials},
    {"NOPERM", fault::permission},
    {"MOVED", fault::clustered},
    {"ASK", fault::clustered},
    {"CROSSSLOT", fault::clustered},
    {"CLUSTERDOWN", fault::clustered},
    {"TRYAGAIN", fault::clustered},
    {"NOREPLICAS", fault::too_few_replicas},
    {"WRONGTYPE", fault::wrong_type},
    // What our own scripts refuse with.
    {"HFNOTADMITTED", fault::not_admitted},
    {"HFEPOCH", fault::epoch_moved},
    {"HFTTL", fault::ttl_too_long},
    {"HFNOSESSION", fault::session_missing},
    {"HFDENIED", fault::denied},
    {"HFCLOCK", fault::clock_went_back},
    {"HFCOUNTER", fault::counter_full},
}};

}  // namespace

const fault_action& action_on(fault f) noexcept { return actions[static_cast<std::size_t>(f)]; }

fault fault_of(std::string_view line) noexcept {
  if (line.starts_with("ERR max number of clients")) return fault::too_many_clients;
  const std::string_view word = line.substr(0, line.find_first_of(" \r\n"));
  const auto known = std::find_if(words.begin(), words.end(),
                                  [&](const auto& entry) { return entry.first == word; });
  return known == words.end() ? fault::refused : known->second;
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
  node_vote v;
  v.what = action_on(f).means;
  v.why = f;
  v.epoch = epoch;
  return v;
}

}  // namespace holdfast::core::redlock
