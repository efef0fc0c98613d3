#include "engines/redlock/settings.hpp"

#include "core/invalid.hpp"
#include "core/lease.hpp"
#include "engines/redlock/other_list.hpp"
#include "io/net/tls_url.hpp"
#include "io/redis/redis_url.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::engines::redlock {

namespace {

using namespace std::chrono_literals;
using namespace io::redis_url;
using core::invalid;

constexpr duration max_ttl_default = 60s;
constexpr duration timeout_least = 5ms;
constexpr duration timeout_most = 50ms;
constexpr duration given_timeout_least = 1ms;
constexpr duration given_timeout_most = 10s;

result<std::vector<io::node_address>> nodes_of(const core::store_url& url) {
  if (url.hosts.empty()) {
    return invalid("a redlock URL names its nodes: redlock://host1,host2,host3");
  }
  if (url.hosts.size() > core::redlock::nodes_max) {
    return invalid("the URL names " + std::to_string(url.hosts.size()) + " nodes; at most " +
                   std::to_string(core::redlock::nodes_max) + " are supported, 5 are recommended");
  }
  std::vector<io::node_address> nodes;
  std::vector<std::string> seen;
  for (const std::string& host : url.hosts) {
    if (host.find_first_of(" \t") != std::string::npos) {
      return invalid("the URL's list of nodes has a blank in '" + host +
                     "'; separate nodes by a comma alone");
    }
    auto parsed = io::node_address::parse(host, default_port);
    if (!parsed) return parsed.error();
    if (std::ranges::find(seen, parsed->text()) != seen.end()) {
      return invalid("the URL names the node " + parsed->text() +
                     " twice; N nodes are N servers that fail independently");
    }
    seen.push_back(parsed->text());
    nodes.push_back(std::move(*parsed));
  }
  return nodes;
}

/// Times that the URL gives, within what they may be.
result<void> read_times(const core::store_url& url, settings& s) {
  const auto max_ttl = url.time_within("max_ttl", core::ttl_min, core::ttl_max);
  if (!max_ttl) return max_ttl.error();
  // As the records keep it, with which it is compared.
  s.max_ttl = std::chrono::ceil<std::chrono::milliseconds>(max_ttl->value_or(max_ttl_default));
  s.max_ttl_given = max_ttl->has_value();
  const auto ttl = url.time("ttl");
  if (!ttl) return ttl.error();
  s.ttl = *ttl;
  const auto timeout = url.time_within("node_timeout", given_timeout_least, given_timeout_most);
  if (!timeout) return timeout.error();
  s.node_timeout = *timeout;
  return {};
}

}  // namespace

std::string settings::extension_limit() const {
  if (extensions == no_limit) return {};
  const std::string most = std::to_string(extensions);
  return "one lock is extended at most " + most + (extensions == 1 ? " time" : " times") +
         " (extensions=" + most + " in the store's URL)";
}

std::string settings::even_nodes() const {
  if (nodes.size() % 2 != 0) return {};
  const std::size_t less = nodes.size() - 1;
  return std::to_string(nodes.size()) + " nodes tolerate no more failures than " +
         std::to_string(less) + (less == 1 ? " node does" : " nodes do") + "; use an odd number";
}

duration settings::timeout_for(duration lease) const noexcept {
  return node_timeout.value_or(std::clamp<duration>(lease / 200, timeout_least, timeout_most));
}

result<settings> read_settings(const core::store_url& url) {
  if (auto known =
          url.only({"ttl", "max_ttl", "node_timeout", "tokens", "assume_fresh", "may_evict",
                    "extensions", "password_file", "ca", "cert", "key", "verify"});
      !known) {
    return known.error();
  }
  settings s;
  auto nodes = nodes_of(url);
  if (!nodes) return nodes.error();
  s.nodes = std::move(*nodes);
  auto login = login_of(url);
  if (!login) return login.error();
  s.login = std::move(*login);
  auto tls = io::tls_of(url);
  if (!tls) return tls.error();
  s.tls = std::move(*tls);
  if (auto times = read_times(url, s); !times) return times.error();
  const auto tokens = one_of(url, "tokens", "on", "off", true);
  if (!tokens) return tokens.error();
  s.tokens = *tokens;
  const auto fresh = one_of(url, "assume_fresh", "yes", "no", false);
  if (!fresh) return fresh.error();
  s.assume_fresh = *fresh;
  if (s.assume_fresh && s.tokens) {
    return invalid("assume_fresh=yes is for tokens=off; with tokens the node records decide");
  }
  const auto evict = one_of(url, "may_evict", "yes", "no", false);
  if (!evict) return evict.error();
  s.may_evict = *evict;
  const std::string extensions = url.value("extensions");
  if (!extensions.empty()) {
    const auto most = number(extensions, "extensions", settings::no_limit - 1);
    if (!most) return most.error();
    s.extensions = static_cast<std::uint32_t>(*most);
  }
  s.config_hash = hash_of_list(s.nodes, s.login.database);
  s.url = url.str();
  s.identity = "redlock://" + io::text_of(s.nodes) + "/" + std::to_string(s.login.database);
  return s;
}

}  // namespace holdfast::engines::redlock
