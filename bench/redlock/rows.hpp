#pragma once

#include "bench/figures.hpp"
#include "bench/redis/redis_servers.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::bench {

/// How many nodes the store of these rows has.
inline constexpr std::size_t node_count = 5;

figures measure_sequential(redis_servers& s, const effort& e);
figures measure_delayed(redis_servers& s, const effort& e);
figures measure_concurrent(redis_servers& s, const effort& e);
figures measure_durable(const effort& e);
figures measure_faults(redis_servers& s, const effort& e);
figures measure_waiters(redis_servers& s, const effort& e);
figures measure_renewal(redis_servers& s, const effort& e);

// A machine that does other things, too, may keep a server from running for longer than the default
// node timeout; the bare loops wait without a limit.
constexpr const char* tokens_off = "tokens=off&assume_fresh=yes&node_timeout=2s";
constexpr const char* tokens_on = "tokens=on&node_timeout=2s";
// The node timeout is the default one of a ttl of 30 s; a server that restarted votes a second
// later.
constexpr const char* default_timeout =
    "tokens=off&assume_fresh=yes&ttl=1s&max_ttl=1s&node_timeout=50ms";

/// `redlock://127.0.0.1:P1,...?QUERY`
std::string url_of(const std::vector<int>& ports, const std::string& query);

}  // namespace holdfast::bench
