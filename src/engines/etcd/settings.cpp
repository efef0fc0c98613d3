#include "engines/etcd/settings.hpp"

#include "core/invalid.hpp"
#include "io/net/servers_url.hpp"
#include "io/net/tls_url.hpp"

namespace holdfast::engines::etcd {

namespace {

constexpr std::size_t prefix_bytes_max = 256;

using core::invalid;

result<std::string> prefix_of(const core::store_url& url) {
  std::string prefix = url.path;
  while (prefix.starts_with('/')) prefix.erase(0, 1);
  while (prefix.ends_with('/')) prefix.pop_back();
  if (prefix.empty()) prefix = "holdfast";
  if (prefix.size() > prefix_bytes_max) {
    return invalid("the URL's prefix (the part after the servers) has " +
                   std::to_string(prefix.size()) + " bytes; at most " +
                   std::to_string(prefix_bytes_max) + " are allowed");
  }
  return prefix + "/";
}

}  // namespace

result<settings> read_settings(const core::store_url& url) {
  if (auto known = url.only({"node_timeout", "password_file", "ca", "cert", "key", "verify"});
      !known) {
    return known.error();
  }
  settings s;
  auto servers = io::servers_of(url, {.scheme = "etcd", .port = 2379, .unix_sockets = true});
  if (!servers) return servers.error();
  s.servers = std::move(servers->servers);
  s.user = std::move(servers->user);
  s.password = std::move(servers->password);
  s.password_file = std::move(servers->password_file);
  s.node_timeout = servers->node_timeout;
  auto prefix = prefix_of(url);
  if (!prefix) return prefix.error();
  s.prefix = std::move(*prefix);
  auto tls = io::tls_of(url, "h2");
  if (!tls) return tls.error();
  s.tls = std::move(*tls);
  // One text for one store, by which a process shares its engine.
  core::store_url canonical = url;
  canonical.path = "/" + s.prefix.substr(0, s.prefix.size() - 1);
  s.url = canonical.str();
  return s;
}

}  // namespace holdfast::engines::etcd
