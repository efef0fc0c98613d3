#pragma once

#include "bench/figures.hpp"
#include "bench/redis/redis_servers.hpp"

#include <string>

namespace holdfast::bench {

figures measure_one_caller(const redis_servers& s, const effort& e);
figures measure_many_callers(const redis_servers& s, const effort& e);
figures measure_heartbeats(const redis_servers& s, const effort& e);
figures measure_hand_over(const redis_servers& s, const effort& e);
figures measure_herd(const redis_servers& s, const effort& e);
figures measure_sizes(const redis_servers& s, const effort& e);
figures measure_synced(const redis_servers& s, const effort& e);

/// The store on the one server. The URL says that it is the first use, for nothing is held when it
/// begins.
inline std::string url_of(const redis_servers& s) {
  return "redis://127.0.0.1:" + std::to_string(s.ports().front()) +
         "?assume_fresh=yes&node_timeout=2s";
}

}  // namespace holdfast::bench
