#include "io/net/node_address.hpp"

#include "core/whole_number.hpp"

#include <sys/un.h>

#include <algorithm>

namespace holdfast::io {

namespace {

error refused(std::string_view text, const std::string& why) {
  return error(errc::invalid_argument, "'" + std::string(text) + "' is no address of a node: " +
                                           why + "; write host:port, [v6]:port or unix:/path");
}

result<node_address> parse_unix(std::string_view text, std::string_view path) {
  constexpr std::size_t bytes_max = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.front() != '/') return refused(text, "the path is not absolute");
  if (path.size() > bytes_max) {
    return refused(text, "the path of a socket has at most " + std::to_string(bytes_max) +
                             " bytes, this one has " + std::to_string(path.size()));
  }
  return node_address{.host = {}, .port = 0, .path = std::string(path)};
}

}  // namespace

result<node_address> node_address::parse(std::string_view text, std::uint16_t port_if_none) {
  constexpr std::string_view unix_prefix = "unix:";
  if (text.starts_with(unix_prefix)) return parse_unix(text, text.substr(unix_prefix.size()));

  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return refused(text, "the bracket is not closed");
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port.front() != ':') return refused(text, "a colon is missing after ']'");
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
    if (port.find(':', 1) != std::string_view::npos) {
      return refused(text, "an IPv6 address needs brackets");
    }
  }
  if (host.empty()) return refused(text, "the host is missing");

  node_address made{.host = std::string(host), .port = port_if_none, .path = {}};
  if (port.empty()) return made;
  port.remove_prefix(1);
  made.port = core::whole_number<std::uint16_t>(port).value_or(0);
  if (made.port == 0) return refused(text, "the port is not a number from 1 to 65535");
  return made;
}

std::string node_address::text() const {
  if (is_unix()) return "unix:" + path;
  const bool is_v6 = host.find(':') != std::string::npos;
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string text_of(const std::vector<node_address>& servers) {
  std::vector<std::string> texts;
  for (const auto& s : servers) texts.push_back(s.text());
  // A URL may name them in any order, and means the same servers.
  std::ranges::sort(texts);
  std::string all;
  for (const auto& t : texts) all.append(all.empty() ? "" : ",").append(t);
  return all;
}

}  // namespace holdfast::io
