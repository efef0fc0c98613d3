// Every number that redis:// is held to, beside a bare loop that sends the same scripts to the same
// redis-server in the same run. Both sides take turns; a line shows medians, and the median of the
// ratios.

#include "bench/redis/rows.hpp"

#include <holdfast/session.hpp>

#include <optional>
#include <stdexcept>

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  std::optional<redis_servers> one;
  return print_rows(argc, argv, [&](const effort& e) -> std::vector<row> {
    redis_servers& server = one.emplace(1);
    // The bare loops need what it writes: the store's record and the scripts.
    const auto first = holdfast::open(url_of(server));
    if (!first) throw std::runtime_error(first.error().message());
    return {
        {"one caller", [&server, e] { return measure_one_caller(server, e); }},
        {"many callers", [&server, e] { return measure_many_callers(server, e); }},
        {"heartbeats", [&server, e] { return measure_heartbeats(server, e); }},
        {"hand-over", [&server, e] { return measure_hand_over(server, e); }},
        {"herd", [&server, e] { return measure_herd(server, e); }},
        {"sizes", [&server, e] { return measure_sizes(server, e); }},
        {"synced", [&server, e] { return measure_synced(server, e); }},
    };
  });
}
