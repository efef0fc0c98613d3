#include "engines/redlock/node_fault.hpp"

#include "engines/redlock/scripts.hpp"
#include "wire/server_error.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::engines::redlock {

using core::redlock::fault;

namespace {

using wire::server_error;

/// What our own scripts refuse with.
constexpr std::array<std::pair<std::string_view, fault>, 7> refusals{{
    {refusal::not_admitted, fault::not_admitted},
    {refusal::epoch, fault::epoch_moved},
    {refusal::ttl, fault::ttl_too_long},
    {refusal::no_session, fault::session_missing},
    {refusal::denied, fault::denied},
    {refusal::clock_went_back, fault::clock_went_back},
    {refusal::counter, fault::counter_full},
}};

fault fault_of(server_error e) noexcept {
  switch (e) {
    case server_error::moved:
    case server_error::ask:
    case server_error::crossslot:
    case server_error::tryagain:
    case server_error::clusterdown:
      return fault::clustered;
    case server_error::misconf:
      return fault::disk_error;
    case server_error::oom:
      return fault::out_of_memory;
    case server_error::readonly:
    case server_error::masterdown:
      return fault::replica;
    case server_error::loading:
      return fault::loading;
    case server_error::noauth:
    case server_error::wrongpass:
      return fault::credentials;
    case server_error::noperm:
      return fault::permission;
    case server_error::wrongtype:
      return fault::wrong_type;
    case server_error::noscript:
      return fault::script_missing;
    case server_error::busy:
    case server_error::unkillable:
      return fault::busy_script;
    case server_error::noreplicas:
      return fault::too_few_replicas;
    case server_error::execabort:
    case server_error::other:
      break;
  }
  return fault::refused;
}

}  // namespace

fault fault_of(std::string_view line) noexcept {
  if (line.starts_with("ERR max number of clients")) return fault::too_many_clients;
  const std::string_view word = line.substr(0, line.find_first_of(" \r\n"));
  const auto ours = std::ranges::find_if(refusals, [&](const auto& r) { return r.first == word; });
  return ours == refusals.end() ? fault_of(wire::server_error_of(line)) : ours->second;
}

fault fault_in(const wire::reply& r) noexcept {
  return r.is(wire::reply_kind::error) ? fault_of(r.text) : fault::garbled;
}

}  // namespace holdfast::engines::redlock
