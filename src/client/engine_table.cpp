#include "client/engine_table.hpp"

#ifdef HOLDFAST_ENGINE_ETCD
#include "engines/etcd/open.hpp"
#endif
#ifdef HOLDFAST_ENGINE_LOCAL
#include "engines/local/open.hpp"
#endif
#ifdef HOLDFAST_ENGINE_MEMORY
#include "engines/memory/open.hpp"
#endif
#ifdef HOLDFAST_ENGINE_REDIS
#include "engines/redis/open.hpp"
#endif
#ifdef HOLDFAST_ENGINE_REDLOCK
#include "engines/redlock/open.hpp"
#endif
#ifdef HOLDFAST_ENGINE_ZOOKEEPER
#include "engines/zookeeper/open.hpp"
#endif

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

/// The one place that names the engines: each is a function of its folder, and HOLDFAST_ENGINES
/// says which of them are there.

namespace holdfast::client {

namespace {

struct row {
  std::string_view scheme;
  result<engines::opened_store> (*open)(const core::store_url&, missing);
  result<presence> (*find)(const core::store_url&);
  bool uses_ttl{};  ///< It has the query's `ttl` and `max_ttl`, which the client has checked.
};

constexpr row rows[] = {
#ifdef HOLDFAST_ENGINE_ETCD
    {"etcd", &engines::etcd::open_etcd, &engines::etcd::find_etcd},
#endif
#ifdef HOLDFAST_ENGINE_LOCAL
    {"local", &engines::local::open_local, &engines::local::find_local},
#endif
#ifdef HOLDFAST_ENGINE_MEMORY
    {"memory", &engines::memory::open_memory, &engines::memory::find_memory},
#endif
#ifdef HOLDFAST_ENGINE_REDIS
    {"redis", &engines::redis::open_redis, &engines::redis::find_redis, true},
#endif
#ifdef HOLDFAST_ENGINE_REDLOCK
    {"redlock", &engines::redlock::open_redlock, &engines::redlock::find_redlock, true},
#endif
#ifdef HOLDFAST_ENGINE_ZOOKEEPER
    {"zookeeper", &engines::zookeeper::open_zookeeper, &engines::zookeeper::find_zookeeper},
#endif
    {"", nullptr, nullptr},  // Keeps the table from being empty.
};

// What is left out of this build is `unsupported` and not unknown: another build has it.
constexpr std::array<std::string_view, 6> known = {"local",   "memory", "redis",
                                                   "redlock", "etcd",   "zookeeper"};

std::string built_in() {
  std::string text;
  for (const auto& r : rows) {
    if (r.open == nullptr) continue;
    text.append(text.empty() ? "'" : ", '").append(r.scheme).append(":'");
  }
  return text.empty() ? "none" : text;
}

result<row> row_of(const std::string& scheme) {
  for (const auto& r : rows) {
    if (r.open != nullptr && r.scheme == scheme) return r;
  }
  if (std::ranges::find(known, scheme) != known.end()) {
    return error(errc::unsupported,
                 "the engine '" + scheme + "' is not part of this build; built in: " + built_in());
  }
  // Redis' own tools and other clients write it so.
  const std::string with_tls = scheme == "rediss" ? ", which is written 'redis+tls:'" : "";
  return error(errc::invalid_argument, "unknown store URL scheme '" + scheme + "'" + with_tls +
                                           "; built in: " + built_in());
}

core::store_url for_engine(core::store_url url, const row& r) {
  // An engine refuses options that it does not know, and these two are of every store.
  if (r.uses_ttl) return url;
  url.query.erase("ttl");
  url.query.erase("max_ttl");
  return url;
}

}  // namespace

result<void> check_scheme(const std::string& scheme) {
  const auto r = row_of(scheme);
  return r ? result<void>() : r.error();
}

result<engines::opened_store> open_engine(const core::store_url& url, missing what) {
  const auto r = row_of(url.scheme);
  return r ? r->open(for_engine(url, *r), what) : r.error();
}

result<presence> find_store(const core::store_url& url) {
  const auto r = row_of(url.scheme);
  return r ? r->find(for_engine(url, *r)) : r.error();
}

}  // namespace holdfast::client
