#include "engines/redis/open.hpp"

#include "engines/redis/diagnose.hpp"
#include "engines/redis/engine.hpp"
#include "engines/redis/knowledge.hpp"
#include "engines/redis/settings.hpp"
#include "io/net/server_names.hpp"
#include "io/process/per_process.hpp"
#include "io/process/run_directory.hpp"
#include "io/process/running_stores.hpp"

#include <utility>

namespace holdfast::engines::redis {

namespace {

// By URL and password: a wrong one must neither share a login that was right nor spoil it for
// others.
constinit io::running_stores<redis_engine> stores;
constinit io::per_process<known_stores> known;

result<std::shared_ptr<redis_engine>> engine_for(settings s) {
  const std::string url = s.url;
  const std::string password = s.login.password;
  return stores.get(url, password, [&](std::shared_ptr<io::loop> loop) {
    const auto server =
        std::make_shared<master>(std::move(s), std::move(loop), known.get().of(url, password));
    server->start();
    return std::make_shared<redis_engine>(server);
  });
}

}  // namespace

result<opened_store> open_redis(const core::store_url& url, missing) {
  auto s = read_settings(url);
  if (!s) return s.error();
  opened_store o;
  o.url = s->url;
  o.identity = [node = s->node, at = "/" + std::to_string(s->login.database)]() {
    auto names = io::server_names({node});
    return names ? result<std::string>("redis/" + *names + at) : names;
  };
  o.ttl_limit = s->max_ttl;
  o.keep_lives_in(io::life_directory_of(s->identity));
  auto engine = engine_for(std::move(*s));
  if (!engine) return engine.error();
  // It keeps the engine, not its server alone: the engine ends it.
  o.promise =
      "exclusive, shared and permits(n) locks, first come first served, with tokens that grow "
      "unless an older copy of its data is loaded unseen. While the one server is away nothing is "
      "granted, and holders stop when their leases end; after it lost writes it grants nothing for "
      "max_ttl. Its clock decides nothing while it has its data";
  o.diagnose = [kept = *engine] { return diagnose(*kept->server()); };
  o.loop = (*engine)->server()->shared_loop();
  o.engine = std::move(*engine);
  return o;
}

result<presence> find_redis(const core::store_url& url) {
  const auto s = read_settings(url);
  if (!s) return s.error();
  return presence{.url = s->url, .there = true, .obstacle = {}};
}

}  // namespace holdfast::engines::redis
