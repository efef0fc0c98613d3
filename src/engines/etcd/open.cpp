#include "engines/etcd/open.hpp"

#include "engines/etcd/diagnose.hpp"
#include "engines/etcd/engine.hpp"
#include "engines/etcd/inspection.hpp"
#include "engines/etcd/settings.hpp"
#include "io/process/run_directory.hpp"
#include "io/process/running_stores.hpp"

#include <utility>

namespace holdfast::engines::etcd {

namespace {

// By URL and password: a wrong one must neither share a login that was right nor spoil it for
// others.
constinit io::running_stores<etcd_engine> stores;

result<std::shared_ptr<etcd_engine>> engine_for(settings s) {
  const std::string url = s.url;
  const std::string password = s.password;
  return stores.get(url, password, [&](std::shared_ptr<io::loop> loop) {
    const auto servers = std::make_shared<cluster>(std::move(s), std::move(loop));
    // It listens to them, and on their thread that is asked for from the start on.
    auto engine = std::make_shared<etcd_engine>(servers);
    servers->start();
    return engine;
  });
}

std::string life_name_of(const settings& s) {
  return "etcd," + io::text_of(s.servers) + "/" + s.prefix;
}

}  // namespace

result<opened_store> open_etcd(const core::store_url& url, missing) {
  auto s = read_settings(url);
  if (!s) return s.error();
  opened_store o;
  // The beat is a revision, which counts everybody's writes.
  o.counts_beats = false;
  o.url = s->url;
  o.need_time_for_two_beats(s->node_timeout);
  o.keep_lives_in(io::life_directory_of(life_name_of(*s)));
  auto engine = engine_for(std::move(*s));
  if (!engine) return engine.error();
  // It keeps the engine, not the servers alone: the engine ends them.
  const auto kept = *engine;
  o.promise =
      "exclusive, shared and permits(n) locks, first come first served, with tokens that grow, "
      "also over a backup that is restored with a new cluster token. Any majority of the servers "
      "suffices; none of their clocks and leases decides anything";
  o.longest_failover = [kept] { return longest_failover(kept->servers()); };
  o.identity = [kept] { return identity_of(*kept->servers()); };
  o.diagnose = [kept] { return diagnose(kept->servers()); };
  o.loop = kept->servers()->shared_loop();
  o.engine = std::move(*engine);
  return o;
}

result<presence> find_etcd(const core::store_url& url) {
  const auto s = read_settings(url);
  if (!s) return s.error();
  return presence{.url = s->url, .there = true, .obstacle = {}};
}

}  // namespace holdfast::engines::etcd
