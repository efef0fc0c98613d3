#include "bench/redlock_store.hpp"

#include "core/store_url.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/open.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
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

double own_cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double resident_bytes() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace holdfast::bench
