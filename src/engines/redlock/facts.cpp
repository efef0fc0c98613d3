#include "engines/redlock/facts.hpp"

#include "io/redis/redis_facts.hpp"

namespace holdfast::engines::redlock::facts {

result<void> check(const io::redis_facts& server) { return io::check_redis(server, "redlock"); }

core::redlock::node_facts of(const io::redis_facts& server) {
  core::redlock::node_facts f;
  f.run_id = io::life_of(server);
  // A sentinel has no role, and is told by its mode.
  f.master = server.role == "master" || server.mode == "sentinel";
  f.standalone = server.mode == "standalone";
  return f;
}

bool is_durable(const io::redis_facts& server, const wire::reply& config) {
  return io::keeps_every_write(server, config);
}

bool is_rewriting(const io::redis_facts& server, const wire::reply& config) {
  return io::keeps_every_write_but_rewrites(server, config);
}

}  // namespace holdfast::engines::redlock::facts
