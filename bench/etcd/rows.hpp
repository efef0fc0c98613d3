#pragma once

#include "bench/figures.hpp"
#include "tests/etcd/server.hpp"

namespace holdfast::bench {

figures measure_etcd_sequential(const etcd_tests::servers& s, const effort& e);
figures measure_etcd_concurrent(etcd_tests::servers& s, const effort& e);
figures measure_etcd_hand_over(const etcd_tests::servers& s, const effort& e);
figures measure_etcd_herd(const etcd_tests::servers& s, const effort& e);
figures measure_etcd_heartbeat(const etcd_tests::servers& s, const effort& e);

}  // namespace holdfast::bench
