#include "engines/etcd/settings.hpp"

#include "io/password_file.hpp"
#include "io/tls_url.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>

namespace holdfast::engines::etcd {

namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t client_port = 2379;
constexpr std::size_t servers_max = 16;
constexpr std::size_t prefix_bytes_max = 256;
constexpr duration timeout_default = 2s;
constexpr duration timeout_least = 20ms;
constexpr duration timeout_most = 60s;

error wrong(std::string text) { return {errc::invalid_argument, std::move(text)}; }

result<std::vector<io::node_address>> servers_of(const core::store_url& url) {
  if (url.hosts.empty()) {
    return wrong("an etcd URL names the servers of one cluster: etcd://host1,host2,host3");
  }
  if (url.hosts.size() > servers_max) {
    return wrong("the URL names " + std::to_string(url.hosts.size()) + " servers; at most " +
                 std::to_string(servers_max) + " are supported");
  }
  std::vector<io::node_address> servers;
  for (const std::string& host : url.hosts) {
    auto parsed = io::node_address::parse(host, client_port);
    if (!parsed) return parsed.error();
    const auto same = [&](const auto& a) { return a.text() == parsed->text(); };
    if (std::ranges::any_of(servers, same)) {
      return wrong("the URL names the server " + parsed->text() + " twice");
    }
    servers.push_back(std::move(*parsed));
  }
  return servers;
}

result<std::string> prefix_of(const core::store_url& url) {
  std::string prefix = url.path;
  while (prefix.starts_with('/')) prefix.erase(0, 1);
  while (prefix.ends_with('/')) prefix.pop_back();
  if (prefix.empty()) prefix = "holdfast";
  if (prefix.size() > prefix_bytes_max) {
    return wrong("the URL's prefix (the part after the servers) has " +
                 std::to_string(prefix.size()) + " bytes; at most " +
                 std::to_string(prefix_bytes_max) + " are allowed");
  }
  return prefix + "/";
}

result<duration> timeout_of(const core::store_url& url) {
  const auto given = url.time("node_timeout");
  if (!given) return given.error();
  const duration timeout = given->value_or(timeout_default);
  if (timeout >= timeout_least && timeout <= timeout_most) return timeout;
  return wrong("the URL's node_timeout is " + print_duration(timeout) + "; it must be from " +
               print_duration(timeout_least) + " to " + print_duration(timeout_most));
}

}  // namespace

result<settings> read_settings(const core::store_url& url) {
  if (auto known = url.only({"node_timeout", "password_file", "ca", "cert", "key", "verify"});
      !known) {
    return known.error();
  }
  settings s;
  auto servers = servers_of(url);
  if (!servers) return servers.error();
  s.servers = std::move(*servers);
  auto prefix = prefix_of(url);
  if (!prefix) return prefix.error();
  s.prefix = std::move(*prefix);
  auto password = io::password_of(url);
  if (!password) return password.error();
  s.user = url.user;
  s.password = std::move(*password);
  if (s.user.empty() != s.password.empty()) {
    return wrong(s.user.empty()
                     ? "the URL gives a password and no user: etcd://USER@host?password_file="
                     : "the URL names the user '" + s.user +
                           "' and no password; give password_file=");
  }
  auto tls = io::tls_of(url, "h2");
  if (!tls) return tls.error();
  s.tls = std::move(*tls);
  const auto timeout = timeout_of(url);
  if (!timeout) return timeout.error();
  s.node_timeout = *timeout;
  core::store_url canonical = url;
  canonical.path = "/" + s.prefix.substr(0, s.prefix.size() - 1);
  s.url = canonical.str();
  return s;
}

}  // namespace holdfast::engines::etcd
