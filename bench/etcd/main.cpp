// Every number that the engine of etcd is held to, beside a bare loop on the same server in the
// same run. Both sides take turns; a line shows medians, and the median of the ratios.

#include "bench/etcd/rows.hpp"

#include <optional>

int main(int argc, char** argv) {
  using namespace holdfast::bench;
  // Data in memory: what a disk takes would hide what we take.
  std::optional<holdfast::etcd_tests::servers> one;
  return print_rows(argc, argv, [&](const effort& e) -> std::vector<row> {
    auto& server = one.emplace();
    return {
        {"sequential", [&server, e] { return measure_etcd_sequential(server, e); }},
        {"concurrent", [&server, e] { return measure_etcd_concurrent(server, e); }},
        {"hand-over", [&server, e] { return measure_etcd_hand_over(server, e); }},
        {"herd", [&server, e] { return measure_etcd_herd(server, e); }},
        {"heartbeat", [&server, e] { return measure_etcd_heartbeat(server, e); }},
    };
  });
}
