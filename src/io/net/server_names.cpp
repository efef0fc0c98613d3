#include "io/net/server_names.hpp"

#include "core/fnv1a.hpp"
#include "core/hexadecimal.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

namespace holdfast::io {

namespace {

constexpr unsigned this_host = 0;  ///< 0.0.0.0: Linux connects it to the machine itself.
constexpr unsigned loopback = 127;

/// In any way in which the resolver reads a number: 127.1, 0x7f000001, 0.
bool is_own_number(const std::string& host) {
  in_addr v4{};
  if (::inet_aton(host.c_str(), &v4) != 0) {
    const unsigned first = ntohl(v4.s_addr) >> 24U;
    return first == this_host || first == loopback;
  }
  std::array<unsigned char, 16> v6{};
  const std::string without_zone = host.substr(0, host.find('%'));
  if (::inet_pton(AF_INET6, without_zone.c_str(), v6.data()) != 1) return false;
  const auto zeros = std::ranges::find_if(v6, [](unsigned char c) { return c != 0; }) - v6.begin();
  if (zeros == 10 && v6[10] == 0xff && v6[11] == 0xff) {  // A v4 address in v6.
    return v6[12] == this_host || v6[12] == loopback;
  }
  return zeros == 16 || (zeros == 15 && v6[15] == 1);
}

bool is_own_name(std::string host) {
  if (host.ends_with('.')) host.pop_back();
  constexpr std::string_view own = "localhost";
  if (host.size() < own.size()) return false;
  const std::size_t front = host.size() - own.size();
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(host.substr(front), own, {}, lower) &&
         (front == 0 || host[front - 1] == '.');
}

bool is_of_this_machine(const node_address& a) {
  return a.is_unix() || is_own_name(a.host) || is_own_number(a.host);
}

result<std::string> mark_of_this_machine() {
  constexpr std::size_t id_digits = 32;
  const std::string path = "/etc/machine-id";
  std::ifstream file(path);
  const int why = errno;
  if (!file.is_open() && why != ENOENT) {
    // One that may be whole: another in its place would make another store of this one.
    return error(errc::unavailable,
                 "the URL names a server by an address of this machine alone, and " + path +
                     ", which tells this machine from others, cannot be read: " +
                     std::system_category().message(why));
  }
  std::string line;
  std::getline(file, line);
  // machine-id(5) asks not to show the id itself: this keeps half of it.
  if (line.size() == id_digits) return core::hexadecimal(core::fnv1a("holdfast " + line), 16);
  return error(
      errc::unavailable,
      "the URL names a server by an address of this machine alone, and " + path +
          " does not tell this machine from others; name the server as the network knows it, "
          "or make that file: systemd-machine-id-setup, or without systemd "
          "tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id");
}

}  // namespace

result<std::string> server_names(const std::vector<node_address>& servers) {
  std::string text = text_of(servers);
  // Else two machines would call different servers by one name.
  if (std::ranges::none_of(servers, is_of_this_machine)) return text;
  auto mark = mark_of_this_machine();
  if (!mark) return mark.error();
  return text + "@" + *mark;
}

}  // namespace holdfast::io
