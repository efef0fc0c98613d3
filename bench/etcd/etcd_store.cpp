#include "bench/etcd/etcd_store.hpp"

#include "core/store_url.hpp"
#include "engines/etcd/open.hpp"

#include <future>

namespace holdfast::bench {

etcd_store::etcd_store(const std::string& url) {
  kept_ = engines::etcd::open_etcd(core::store_url::parse(url).value()).value().engine;
  servers_ = dynamic_cast<engines::etcd::etcd_engine&>(*kept_).servers();
}

std::uint64_t etcd_store::calls() const {
  std::promise<std::uint64_t> promised;
  servers_->shared_loop()->post([&] {
    std::uint64_t all = 0;
    for (const auto& m : servers_->members()) all += m->count().calls;
    promised.set_value(all);
  });
  return promised.get_future().get();
}

}  // namespace holdfast::bench
