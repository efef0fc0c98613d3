#include "engines/redlock/open.hpp"

#include "engines/redlock/diagnose.hpp"
#include "engines/redlock/engine.hpp"
#include "engines/redlock/set_up.hpp"
#include "engines/redlock/settings.hpp"
#include "io/net/server_names.hpp"
#include "io/process/running_stores.hpp"

#include <utility>

namespace holdfast::engines::redlock {

namespace {

constinit io::running_stores<redlock_engine> stores;

result<std::shared_ptr<redlock_engine>> engine_for(settings s) {
  const std::string url = s.url;
  const std::string password = s.login.password;
  return stores.get(url, password, [&](std::shared_ptr<io::loop> loop) {
    const auto nodes = std::make_shared<cluster>(std::move(s), std::move(loop));
    nodes->start();
    return std::make_shared<redlock_engine>(nodes);
  });
}

}  // namespace

result<opened_store> open_redlock(const core::store_url& url, missing) {
  auto s = read_settings(url);
  if (!s) return s.error();
  opened_store o;
  o.url = s->url;
  o.identity = [nodes = s->nodes, at = "/" + std::to_string(s->login.database)]() {
    auto names = io::server_names(nodes);
    return names ? result<std::string>("redlock/" + *names + at) : names;
  };
  // Unless the URL says more, the nodes' records decide, which only they know.
  if (!s->tokens || s->max_ttl_given) o.ttl_limit = s->max_ttl;
  if (s->node_timeout) o.need_time_for_a_round(*s->node_timeout);
  o.promise =
      s->tokens
          ? "exclusive locks with growing tokens, in no order of arrival; any majority of the "
            "nodes suffices. Nodes' clocks are trusted to run within 1 % of real time and not to "
            "step; what time they tell matters to `recover` alone"
          : "exclusive locks without tokens (tokens=off): nothing stops a holder that was "
            "paused beyond its lease. Any majority of the nodes suffices";
  o.ends_by_itself = true;
  o.counts_beats = false;
  o.gives_tokens = s->tokens;
  o.cannot_break =
      "redlock keys end by themselves, each with its ttl, and no sooner unless their holder "
      "releases them";
  auto engine = engine_for(std::move(*s));
  if (!engine) return engine.error();
  // They keep the engine, not the nodes alone: the engine ends them.
  const auto kept = *engine;
  o.diagnose = [kept] { return diagnose(kept->nodes()); };
  o.look_over = [kept] { return look_over(kept->nodes()); };
  o.init = [kept](const auto& options) { return init(kept->nodes(), options); };
  o.recover = [kept](const auto& options) { return recover(kept->nodes(), options); };
  o.loop = kept->nodes()->shared_loop();
  o.engine = std::move(*engine);
  return o;
}

result<presence> find_redlock(const core::store_url& url) {
  const auto s = read_settings(url);
  if (!s) return s.error();
  return presence{.url = s->url, .there = true, .obstacle = {}};
}

}  // namespace holdfast::engines::redlock
