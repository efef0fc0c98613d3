#include "io/net/server_names.hpp"

#include "core/fnv1a.hpp"
#include "core/hexadecimal.hpp"

#include <algorithm>
#include <fstream>

namespace holdfast::io {

namespace {

bool is_of_this_machine(const node_address& a) {
  return a.is_unix() || a.host == "localhost" || a.host.ends_with(".localhost") ||
         a.host.starts_with("127.") || a.host == "::1";
}

result<std::string> mark_of_this_machine() {
  constexpr std::size_t id_digits = 32;
  std::ifstream file("/etc/machine-id");
  std::string line;
  std::getline(file, line);
  // machine-id(5) asks not to show the id itself: this keeps half of it.
  if (line.size() == id_digits) return core::hexadecimal(core::fnv1a("holdfast " + line), 16);
  return error(errc::unavailable,
               "the URL names a server by an address of this machine alone, and /etc/machine-id "
               "does not tell this machine from others; name the server as the network knows it, "
               "or run systemd-machine-id-setup");
}

}  // namespace

result<std::string> server_names(const std::vector<node_address>& servers) {
  std::string text = text_of(servers);
  if (std::ranges::none_of(servers, is_of_this_machine)) return text;
  auto mark = mark_of_this_machine();
  if (!mark) return mark.error();
  return text + "@" + *mark;
}

}  // namespace holdfast::io
