#pragma once

#include "tests/redis_server/server.hpp"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace holdfast::redis_tests {

/// Something that keeps a server from its work for a while and takes nothing from its state.
struct fault {
  std::string name;
  std::function<void(server&)> begin;
  std::function<void(server&)> end;
  /// While it lasts the server grants nothing.
  bool stops{};
};

inline void PrintTo(const fault& f, std::ostream* out) { *out << f.name; }

namespace faults {

fault script_flush();
fault client_kill();
fault client_pause();
fault busy_script();
/// A snapshot could not be written: MISCONF.
fault misconf();
fault out_of_memory();
fault maxclients();
/// min-replicas-to-write is not met: NOREPLICAS.
fault too_few_replicas();
/// SIGSTOP and SIGCONT.
fault hung();
/// The same, for longer than a ttl of one second.
fault hung_for_long();

std::vector<fault> all();

}  // namespace faults

}  // namespace holdfast::redis_tests
