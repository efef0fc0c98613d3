#include "engines/zookeeper/settings.hpp"

#include "core/invalid.hpp"
#include "io/net/servers_url.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

constexpr std::size_t root_bytes_max = 256;

using core::invalid;

// A path of nodes as ZooKeeper allows it, without what it keeps for itself.
result<std::string> root_of(const core::store_url& url) {
  std::string root = url.path;
  while (root.ends_with('/')) root.pop_back();
  if (root.empty()) return std::string("/holdfast");
  if (root.size() > root_bytes_max) {
    return invalid("the URL's path (the part after the servers) has " +
                   std::to_string(root.size()) + " bytes; at most " +
                   std::to_string(root_bytes_max) + " are allowed");
  }
  if (root == "/zookeeper" || root.starts_with("/zookeeper/")) {
    return invalid("the URL's path is " + root + ", which ZooKeeper keeps for itself");
  }
  for (std::string_view rest = root; !rest.empty();) {
    rest.remove_prefix(1);
    const auto part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "." || part == "..") {
      return invalid("the URL's path '" + root + "' has a part that no node can have as its name");
    }
    rest.remove_prefix(part.size());
  }
  const auto plain = [](char c) { return c > 0x20 && c < 0x7f; };
  if (std::ranges::all_of(root, plain)) return root;
  return invalid("the URL's path may only have printable ASCII");
}

std::string identity_of(const settings& s) {
  return "zookeeper," + io::text_of(s.servers) + s.root;
}

}  // namespace

result<settings> read_settings(const core::store_url& url) {
  if (url.tls) {
    return error(errc::unsupported,
                 "zookeeper+tls: Debian's ZooKeeper client library is built without TLS; use "
                 "zookeeper:// in a network that you trust, or through a tunnel");
  }
  if (auto known = url.only({"node_timeout", "password_file"}); !known) return known.error();
  settings s;
  auto servers = io::servers_of(url, {.scheme = "zookeeper", .port = 2181, .unix_sockets = false});
  if (!servers) return servers.error();
  s.servers = std::move(servers->servers);
  s.user = std::move(servers->user);
  s.password = std::move(servers->password);
  s.password_file = std::move(servers->password_file);
  s.node_timeout = servers->node_timeout;
  auto root = root_of(url);
  if (!root) return root.error();
  s.root = std::move(*root);
  if (s.user.find(':') != std::string::npos) return invalid("the URL's user has a colon");
  // One text for one store, by which a process shares its engine.
  core::store_url canonical = url;
  canonical.path = s.root;
  s.url = canonical.str();
  s.identity = identity_of(s);
  return s;
}

}  // namespace holdfast::engines::zookeeper
