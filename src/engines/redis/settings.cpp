#include "engines/redis/settings.hpp"

#include "core/invalid.hpp"
#include "core/lease.hpp"
#include "io/net/tls_url.hpp"
#include "io/redis/redis_url.hpp"

#include <chrono>
#include <utility>

namespace holdfast::engines::redis {

namespace {

using namespace std::chrono_literals;
using namespace io::redis_url;
using core::invalid;

constexpr duration max_ttl_default = 60s;
constexpr duration timeout_default = 1s;
constexpr duration timeout_least = 1ms;
constexpr duration timeout_most = 10s;
constexpr std::uint64_t replicas_most = 100;

result<io::node_address> node_of(const core::store_url& url) {
  if (url.hosts.empty()) return invalid("a redis URL names its server: redis://host");
  if (url.hosts.size() > 1) {
    std::string all;
    for (const std::string& host : url.hosts) all += (all.empty() ? "" : ",") + host;
    return invalid("redis:// is one server, the URL names " + std::to_string(url.hosts.size()) +
                   "; several independent ones are redlock://" + all);
  }
  return io::node_address::parse(url.hosts[0], default_port);
}

result<void> read_times(const core::store_url& url, settings& s) {
  const auto max_ttl = url.time_within("max_ttl", core::ttl_min, core::ttl_max);
  if (!max_ttl) return max_ttl.error();
  s.max_ttl = max_ttl->value_or(max_ttl_default);
  s.max_ttl_given = max_ttl->has_value();
  const auto timeout = url.time_within("node_timeout", timeout_least, timeout_most);
  if (!timeout) return timeout.error();
  s.node_timeout = timeout->value_or(timeout_default);
  return {};
}

result<void> read_replication(const core::store_url& url, settings& s) {
  const std::string how = url.value("replicas");
  if (how.empty() || how == "refuse") return {};
  if (how == "ignore") {
    s.with_replicas = settings::replication::ignored;
    return {};
  }
  const auto count = number(how, "replicas", replicas_most);
  if (!count || *count == 0) {
    return invalid("the URL's replicas is '" + how +
                   "'; it must be refuse, ignore, or how many of them each write waits for");
  }
  s.with_replicas = settings::replication::awaited;
  s.replicas = static_cast<std::uint32_t>(*count);
  return {};
}

}  // namespace

result<settings> read_settings(const core::store_url& url) {
  if (auto known = url.only({"ttl", "max_ttl", "node_timeout", "assume_fresh", "replicas",
                             "password_file", "ca", "cert", "key", "verify"});
      !known) {
    return known.error();
  }
  settings s;
  auto node = node_of(url);
  if (!node) return node.error();
  s.node = std::move(*node);
  auto login = login_of(url);
  if (!login) return login.error();
  s.login = std::move(*login);
  auto tls = io::tls_of(url);
  if (!tls) return tls.error();
  s.tls = std::move(*tls);
  if (auto times = read_times(url, s); !times) return times.error();
  if (auto replication = read_replication(url, s); !replication) return replication.error();
  const auto fresh = one_of(url, "assume_fresh", "yes", "no", false);
  if (!fresh) return fresh.error();
  s.assume_fresh = *fresh;
  s.url = url.str();
  // Notes of this store are found by it: a user, a password or an option makes it no other store.
  s.identity = "redis://" + s.node.text() + "/" + std::to_string(s.login.database);
  return s;
}

}  // namespace holdfast::engines::redis
