#include "io/net/servers_url.hpp"

#include "core/invalid.hpp"
#include "io/file/password_file.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::io {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t servers_max = 16;
constexpr duration timeout_default = 2s;
constexpr duration timeout_least = 20ms;
constexpr duration timeout_most = 60s;

using core::invalid;

result<std::vector<node_address>> addresses_of(const core::store_url& url,
                                               const servers_rule& rule) {
  const std::string scheme = rule.scheme;
  if (url.hosts.empty()) {
    return invalid("a URL of " + scheme + " names the servers of one cluster: " + scheme +
                   "://host1,host2,host3");
  }
  if (url.hosts.size() > servers_max) {
    return invalid("the URL names " + std::to_string(url.hosts.size()) + " servers; at most " +
                   std::to_string(servers_max) + " are supported");
  }
  std::vector<node_address> servers;
  for (const std::string& host : url.hosts) {
    auto parsed = node_address::parse(host, rule.port);
    if (!parsed) return parsed.error();
    if (parsed->is_unix() && !rule.unix_sockets) {
      return invalid(scheme + " has no unix sockets; the URL has " + host);
    }
    const auto same = [&](const auto& a) { return a.text() == parsed->text(); };
    if (std::ranges::any_of(servers, same)) {
      return invalid("the URL names the server " + parsed->text() + " twice");
    }
    servers.push_back(std::move(*parsed));
  }
  return servers;
}

result<duration> timeout_of(const core::store_url& url) {
  const auto given = url.time_within("node_timeout", timeout_least, timeout_most);
  if (!given) return given.error();
  return given->value_or(timeout_default);
}

}  // namespace

result<servers_url> servers_of(const core::store_url& url, const servers_rule& rule) {
  servers_url s;
  auto servers = addresses_of(url, rule);
  if (!servers) return servers.error();
  s.servers = std::move(*servers);
  auto password = password_of(url);
  if (!password) return password.error();
  s.user = url.user;
  s.password = std::move(*password);
  s.password_file = url.value("password_file");
  if (s.user.empty() && !s.password.empty()) {
    return invalid("the URL gives a password and no user: " + std::string(rule.scheme) +
                   "://USER@host?password_file=");
  }
  if (!s.user.empty() && s.password.empty()) {
    // Not which: some write the password alone there.
    return invalid("the URL names a user and no password; give password_file=");
  }
  const auto timeout = timeout_of(url);
  if (!timeout) return timeout.error();
  s.node_timeout = *timeout;
  return s;
}

}  // namespace holdfast::io
