#include "bench/redis/redis_store.hpp"

#include "core/store_url.hpp"
#include "engines/redis/engine.hpp"
#include "engines/redis/open.hpp"

#include <stdexcept>

namespace holdfast::bench {

redis_store::redis_store(const std::string& url) {
  const auto parsed = core::store_url::parse(url);
  if (!parsed) throw std::runtime_error(parsed.error().message());
  auto opened = engines::redis::open_redis(*parsed);
  if (!opened) throw std::runtime_error(opened.error().message());
  engine_ = std::move(opened->engine);
}

io::redis_connection::counters redis_store::count() const {
  return dynamic_cast<engines::redis::redis_engine&>(*engine_).server()->count();
}

}  // namespace holdfast::bench
