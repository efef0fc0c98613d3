// Every number that Redlock is held to, beside a bare loop on the same five redis-servers in the
// same run. Both sides take turns; a line shows medians, and the median of the ratios.

#include "bench/redlock/rows.hpp"

#include <holdfast/redlock.hpp>

#include <optional>
#include <stdexcept>

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  std::optional<redis_servers> five;
  return print_rows(argc, argv, [&](const effort& e) -> std::vector<row> {
    redis_servers& servers = five.emplace(node_count);
    const auto set = holdfast::redlock::init(url_of(servers.ports(), tokens_on));
    if (!set) throw std::runtime_error(set.error().message());
    return {
        {"sequential", [&servers, e] { return measure_sequential(servers, e); }},
        {"delayed", [&servers, e] { return measure_delayed(servers, e); }},
        {"concurrent", [&servers, e] { return measure_concurrent(servers, e); }},
        {"waiters", [&servers, e] { return measure_waiters(servers, e); }},
        {"renewal", [&servers, e] { return measure_renewal(servers, e); }},
        {"faults", [&servers, e] { return measure_faults(servers, e); }},
        {"durable", [e] { return measure_durable(e); }},
    };
  });
}
