#include "engines/zookeeper/open.hpp"

#include "engines/zookeeper/diagnose.hpp"
#include "engines/zookeeper/engine.hpp"
#include "engines/zookeeper/settings.hpp"
#include "io/net/server_names.hpp"
#include "io/process/run_directory.hpp"
#include "io/process/running_stores.hpp"

#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

/// On one loop: the client library counts its requests in one number without a lock.
constinit io::running_stores<zookeeper_engine> stores{
    io::running_stores<zookeeper_engine>::loops::shared};

result<std::shared_ptr<zookeeper_engine>> engine_for(settings s) {
  const std::string url = s.url;
  const std::string password = s.password;
  return stores.get(url, password, [&](std::shared_ptr<io::loop> loop) {
    const auto servers = std::make_shared<ensemble>(std::move(s), std::move(loop));
    // It listens to them, and on their thread that is asked for from the start on.
    auto engine = std::make_shared<zookeeper_engine>(servers);
    servers->start();
    return engine;
  });
}

}  // namespace

result<opened_store> open_zookeeper(const core::store_url& url, missing) {
  auto s = read_settings(url);
  if (!s) return s.error();
  opened_store o;
  o.url = s->url;
  o.need_time_for_two_beats(s->node_timeout);
  o.identity = [servers = s->servers, at = s->root]() {
    auto names = io::server_names(servers);
    return names ? result<std::string>("zookeeper/" + *names + at) : names;
  };
  o.keep_lives_in(io::life_directory_of(s->identity));
  auto engine = engine_for(std::move(*s));
  if (!engine) return engine.error();
  // It keeps the engine, not the servers alone: the engine ends them.
  o.promise =
      "exclusive, shared and permits(n) locks, first come first served, with tokens that grow "
      "until an older copy of the data is restored. Any majority of the servers suffices; none of "
      "their clocks and sessions decides anything";
  o.longest_failover = [kept = *engine] { return longest_failover(kept->servers()); };
  o.diagnose = [kept = *engine] { return diagnose(kept->servers()); };
  o.loop = (*engine)->servers()->shared_loop();
  o.engine = std::move(*engine);
  return o;
}

result<presence> find_zookeeper(const core::store_url& url) {
  const auto s = read_settings(url);
  if (!s) return s.error();
  return presence{.url = s->url, .there = true, .obstacle = {}};
}

}  // namespace holdfast::engines::zookeeper
