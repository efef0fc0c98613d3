#pragma once

#include "bench/comparison.hpp"
#include "tests/etcd/server.hpp"

namespace holdfast::bench {

numbers measure_etcd_sequential(const etcd_tests::servers& s, const effort& e);
numbers measure_etcd_concurrent(etcd_tests::servers& s, const effort& e);
numbers measure_etcd_hand_over(const etcd_tests::servers& s, const effort& e);
numbers measure_etcd_heartbeat(const etcd_tests::servers& s, const effort& e);

}  // namespace holdfast::bench
