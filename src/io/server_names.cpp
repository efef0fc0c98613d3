#include "io/server_names.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string_view>

namespace holdfast::io {

namespace {

bool is_of_this_machine(const node_address& a) {
  return a.is_unix() || a.host == "localhost" || a.host.ends_with(".localhost") ||
         a.host.starts_with("127.") || a.host == "::1";
}

// machine-id(5) asks not to show the id itself. FNV-1a keeps half of it.
std::string digest(std::string_view text) {
  std::uint64_t state = 0xcbf29ce484222325U;
  for (const char c : text) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  std::string digits(16, '0');
  for (std::size_t i = 16; i > 0; --i, state >>= 4U) {
    digits[i - 1] = "0123456789abcdef"[state & 15U];
  }
  return digits;
}

result<std::string> mark_of_this_machine() {
  constexpr std::size_t id_digits = 32;
  std::ifstream file("/etc/machine-id");
  std::string line;
  std::getline(file, line);
  if (line.size() == id_digits) return digest("holdfast " + line);
  return error(errc::unavailable,
               "the URL names a server by an address of this machine alone, and /etc/machine-id "
               "does not tell this machine from others; name the server as the network knows it, "
               "or run systemd-machine-id-setup");
}

}  // namespace

result<std::string> server_names(const std::vector<node_address>& servers) {
  std::vector<std::string> names;
  for (const auto& s : servers) names.push_back(s.text());
  std::ranges::sort(names);
  std::string text;
  for (const auto& n : names) text.append(text.empty() ? "" : ",").append(n);
  if (std::ranges::none_of(servers, is_of_this_machine)) return text;
  auto mark = mark_of_this_machine();
  if (!mark) return mark.error();
  return text + "@" + *mark;
}

}  // namespace holdfast::io
