#include "bench/zookeeper/zookeeper_store.hpp"

#include "core/store_url.hpp"
#include "engines/zookeeper/open.hpp"

#include <future>

namespace holdfast::bench {

zookeeper_store::zookeeper_store(const std::string& url) {
  kept_ = engines::zookeeper::open_zookeeper(core::store_url::parse(url).value()).value().engine;
  servers_ = dynamic_cast<engines::zookeeper::zookeeper_engine&>(*kept_).servers();
}

std::uint64_t zookeeper_store::calls() const {
  std::promise<std::uint64_t> promised;
  servers_->shared_loop()->post([&] { promised.set_value(servers_->batches()); });
  return promised.get_future().get();
}

}  // namespace holdfast::bench
