#include "wire/server_error.hpp"

#include <algorithm>
#include <array>

namespace holdfast::wire {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 18> words{
    "MOVED",    "ASK",        "CLUSTERDOWN", "MISCONF",    "OOM",        "READONLY",
    "LOADING",  "MASTERDOWN", "NOAUTH",      "NOPERM",     "WRONGPASS",  "WRONGTYPE",
    "NOSCRIPT", "BUSY",       "EXECABORT",   "UNKILLABLE", "NOREPLICAS", "ERR"};
static_assert(words.size() == static_cast<std::size_t>(server_error::other) + 1);

}  // namespace

server_error server_error_of(std::string_view text) noexcept {
  const auto found = std::find(words.begin(), words.end(), text.substr(0, text.find(' ')));
  if (found == words.end()) return server_error::other;
  return static_cast<server_error>(found - words.begin());
}

std::string_view word_of(server_error e) noexcept { return words[static_cast<std::size_t>(e)]; }

std::string printable(std::string_view text) {
  constexpr std::size_t bytes_max = 200;
  std::string shown(text.substr(0, bytes_max));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace holdfast::wire
