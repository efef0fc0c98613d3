#include "bench/redlock/redlock_store.hpp"

#include "bench/redlock/rows.hpp"
#include "core/store_url.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/open.hpp"

#include <stdexcept>

namespace holdfast::bench {

redlock_store::redlock_store(const std::string& url) {
  const auto parsed = core::store_url::parse(url);
  if (!parsed) throw std::runtime_error(parsed.error().message());
  auto opened = engines::redlock::open_redlock(*parsed);
  if (!opened) throw std::runtime_error(opened.error().message());
  engine_ = std::move(opened->engine);
  nodes_ = dynamic_cast<engines::redlock::redlock_engine&>(*engine_).nodes();
}

io::redis_connection::counters redlock_store::count() const {
  io::redis_connection::counters all;
  for (core::redlock::node_index i = 0; i < nodes_->size(); ++i) {
    const auto c = nodes_->count(i);
    all.commands += c.commands;
    all.writes += c.writes;
    all.reads += c.reads;
    all.unanswered += c.unanswered;
  }
  return all;
}

std::string url_of(const std::vector<int>& ports, const std::string& query) {
  std::string url = "redlock://";
  for (const int p : ports) {
    if (p != ports.front()) url += ",";
    url += "127.0.0.1:" + std::to_string(p);
  }
  return url + "?" + query;
}

}  // namespace holdfast::bench
