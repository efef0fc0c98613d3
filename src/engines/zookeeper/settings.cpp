#include "engines/zookeeper/settings.hpp"

#include "io/password_file.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::engines::zookeeper {

namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t client_port = 2181;
constexpr std::size_t servers_max = 16;
constexpr std::size_t root_bytes_max = 256;
constexpr duration timeout_default = 2s;
constexpr duration timeout_least = 20ms;
constexpr duration timeout_most = 60s;

error wrong(std::string text) { return {errc::invalid_argument, std::move(text)}; }

result<std::vector<io::node_address>> servers_of(const core::store_url& url) {
  if (url.hosts.empty()) {
    return wrong("a zookeeper URL names the servers: zookeeper://host1,host2,host3");
  }
  if (url.hosts.size() > servers_max) {
    return wrong("the URL names " + std::to_string(url.hosts.size()) + " servers; at most " +
                 std::to_string(servers_max) + " are supported");
  }
  std::vector<io::node_address> servers;
  for (const std::string& host : url.hosts) {
    auto parsed = io::node_address::parse(host, client_port);
    if (!parsed) return parsed.error();
    if (parsed->is_unix()) return wrong("ZooKeeper has no unix sockets; the URL has " + host);
    const auto same = [&](const auto& a) { return a.text() == parsed->text(); };
    if (std::ranges::any_of(servers, same)) {
      return wrong("the URL names the server " + parsed->text() + " twice");
    }
    servers.push_back(std::move(*parsed));
  }
  return servers;
}

// A path of nodes as ZooKeeper allows it, without what it keeps for itself.
result<std::string> root_of(const core::store_url& url) {
  std::string root = url.path;
  while (root.ends_with('/')) root.pop_back();
  if (root.empty()) return std::string("/holdfast");
  if (root.size() > root_bytes_max) {
    return wrong("the URL's path (the part after the servers) has " + std::to_string(root.size()) +
                 " bytes; at most " + std::to_string(root_bytes_max) + " are allowed");
  }
  if (root == "/zookeeper" || root.starts_with("/zookeeper/")) {
    return wrong("the URL's path is " + root + ", which ZooKeeper keeps for itself");
  }
  for (std::string_view rest = root; !rest.empty();) {
    rest.remove_prefix(1);
    const auto part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "." || part == "..") {
      return wrong("the URL's path '" + root + "' has a part that no node can have as its name");
    }
    rest.remove_prefix(part.size());
  }
  const auto plain = [](char c) { return c > 0x20 && c < 0x7f; };
  if (std::ranges::all_of(root, plain)) return root;
  return wrong("the URL's path may only have printable ASCII");
}

result<duration> timeout_of(const core::store_url& url) {
  const auto given = url.time("node_timeout");
  if (!given) return given.error();
  const duration timeout = given->value_or(timeout_default);
  if (timeout >= timeout_least && timeout <= timeout_most) return timeout;
  return wrong("the URL's node_timeout is " + print_duration(timeout) + "; it must be from " +
               print_duration(timeout_least) + " to " + print_duration(timeout_most));
}

std::string identity_of(const settings& s) {
  std::vector<std::string> names;
  for (const auto& a : s.servers) names.push_back(a.text());
  std::ranges::sort(names);
  std::string text = "zookeeper";
  for (const auto& n : names) text.append(",").append(n);
  return text.append(s.root);
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
  auto servers = servers_of(url);
  if (!servers) return servers.error();
  s.servers = std::move(*servers);
  auto root = root_of(url);
  if (!root) return root.error();
  s.root = std::move(*root);
  auto password = io::password_of(url);
  if (!password) return password.error();
  s.user = url.user;
  s.password = std::move(*password);
  if (s.user.empty() != s.password.empty()) {
    return wrong(s.user.empty() ? "the URL gives a password and no user: "
                                  "zookeeper://USER@host?password_file="
                                : "the URL names the user '" + s.user +
                                      "' and no password; give password_file=");
  }
  if (s.user.find(':') != std::string::npos) return wrong("the URL's user has a colon");
  const auto timeout = timeout_of(url);
  if (!timeout) return timeout.error();
  s.node_timeout = *timeout;
  core::store_url canonical = url;
  canonical.path = s.root;
  s.url = canonical.str();
  s.identity = identity_of(s);
  return s;
}

}  // namespace holdfast::engines::zookeeper
