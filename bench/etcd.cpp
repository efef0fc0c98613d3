// Every number that the engine of etcd is held to, beside a bare loop on the same server in the
// same run. Both sides take turns; a line shows medians, and the median of the ratios.

#include "bench/etcd_rows.hpp"

#include <memory>

namespace holdfast::bench {

namespace {

/// Data in memory: what a disk takes would hide what we take.
std::vector<row_group> parts(const effort& e) {
  const auto s = std::make_shared<etcd_tests::servers>();
  return {
      {"sequential", [s, e] { return measure_etcd_sequential(*s, e); }},
      {"concurrent", [s, e] { return measure_etcd_concurrent(*s, e); }},
      {"hand-over", [s, e] { return measure_etcd_hand_over(*s, e); }},
      {"heartbeat", [s, e] { return measure_etcd_heartbeat(*s, e); }},
  };
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
  return holdfast::bench::compare(argc, argv, holdfast::bench::parts);
}
