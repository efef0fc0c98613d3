#include "tests/promises/store_kind.hpp"

#include "tests/temporary_directory.hpp"
#if defined(HOLDFAST_ENGINE_ETCD)
#include "tests/etcd/server.hpp"
#endif
#if defined(HOLDFAST_ENGINE_REDIS) || defined(HOLDFAST_ENGINE_REDLOCK)
#include "tests/redis_server/server.hpp"
#endif
#if defined(HOLDFAST_ENGINE_REDLOCK)
#include <holdfast/redlock.hpp>

#include <array>
#include <stdexcept>
#endif
#if defined(HOLDFAST_ENGINE_ZOOKEEPER)
#include "tests/zookeeper/server.hpp"
#endif

#include <string>

namespace holdfast::promises {
namespace {

/// All stores of a program are on the same servers, each at a place of its own: most servers take
/// longer to start than a test.
[[maybe_unused]] std::string next_place() {
  static int made = 0;
  return std::to_string(++made);
}

template <class Servers>
void freeze_all(Servers& all, bool on) {
  for (auto& s : all) on ? s.stop() : s.resume();
}

#if defined(HOLDFAST_ENGINE_MEMORY)
store_kind memory_kind() {
  store_kind k{"memory", [] { return "memory:promises" + next_place(); }};
  k.has_servers = false;
  k.has_processes = false;
  k.sees_deaths = false;
  return k;
}
#endif

#if defined(HOLDFAST_ENGINE_LOCAL)
store_kind local_kind() {
  store_kind k{"local", [] {
                 static const tests::temporary_directory stores;
                 return "local:" + stores.path() + "/" + next_place();
               }};
  k.has_servers = false;
  k.has_to_be_made = true;
  return k;
}
#endif

#if defined(HOLDFAST_ENGINE_REDIS) || defined(HOLDFAST_ENGINE_REDLOCK)
const redis_tests::server::options with_databases{.settings = {"--databases", "1000"}};
#endif

#if defined(HOLDFAST_ENGINE_REDIS)
std::array<redis_tests::server, 1>& one_redis() {
  static std::array<redis_tests::server, 1> all{redis_tests::server(with_databases)};
  return all;
}

store_kind redis_kind() {
  store_kind k{"redis", [] { return "redis://" + one_redis()[0].address() + "/" + next_place(); }};
  k.query = "assume_fresh=yes&max_ttl=1h&";
  k.freeze = [](bool on) { freeze_all(one_redis(), on); };
  return k;
}
#endif

#if defined(HOLDFAST_ENGINE_REDLOCK)
std::array<redis_tests::server, 3>& nodes() {
  static std::array<redis_tests::server, 3> all{redis_tests::server(with_databases),
                                                redis_tests::server(with_databases),
                                                redis_tests::server(with_databases)};
  return all;
}

std::string fresh_redlock() {
  std::string url;
  for (const auto& node : nodes()) url += (url.empty() ? "redlock://" : ",") + node.address();
  url += "/" + next_place();
  const auto done = redlock::init(url + "?node_timeout=10s", {.max_ttl = std::chrono::hours{1}});
  if (!done) throw std::runtime_error(done.error().message());
  return url;
}

store_kind redlock_kind() {
  store_kind k{"redlock", fresh_redlock};
  k.query = "max_ttl=1h&";
  k.has_queue = false;
  k.sees_deaths = false;
  k.breaks = false;
  k.counts_beats = false;
  k.owns_names = true;
  k.keeps_denials = true;
  k.freeze = [](bool on) { freeze_all(nodes(), on); };
  return k;
}
#endif

#if defined(HOLDFAST_ENGINE_ETCD)
etcd_tests::servers& one_etcd() {
  static etcd_tests::servers all(1);
  return all;
}

store_kind etcd_kind() {
  store_kind k{"etcd", [] { return one_etcd().url("t" + next_place()); }};
  k.counts_beats = false;
  k.ttl_min = std::chrono::seconds{1};
  k.freeze = [](bool on) { on ? one_etcd().at(0).stop() : one_etcd().at(0).resume(); };
  return k;
}
#endif

#if defined(HOLDFAST_ENGINE_ZOOKEEPER)
zookeeper_tests::servers& one_zookeeper() {
  static zookeeper_tests::servers all(1);
  return all;
}

store_kind zookeeper_kind() {
  store_kind k{"zookeeper", [] { return one_zookeeper().url("t" + next_place()); }};
  k.ttl_min = std::chrono::seconds{1};
  k.freeze = [](bool on) { on ? one_zookeeper().at(0).stop() : one_zookeeper().at(0).resume(); };
  return k;
}
#endif

}  // namespace

std::vector<store_kind> all_kinds() {
  std::vector<store_kind> all;
#if defined(HOLDFAST_ENGINE_MEMORY)
  all.push_back(memory_kind());
#endif
#if defined(HOLDFAST_ENGINE_LOCAL)
  all.push_back(local_kind());
#endif
#if defined(HOLDFAST_ENGINE_REDIS)
  all.push_back(redis_kind());
#endif
#if defined(HOLDFAST_ENGINE_REDLOCK)
  all.push_back(redlock_kind());
#endif
#if defined(HOLDFAST_ENGINE_ETCD)
  all.push_back(etcd_kind());
#endif
#if defined(HOLDFAST_ENGINE_ZOOKEEPER)
  all.push_back(zookeeper_kind());
#endif
  return all;
}

}  // namespace holdfast::promises
