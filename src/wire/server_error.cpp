#include "wire/server_error.hpp"

#include <algorithm>
#include <array>

namespace holdfast::wire {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 20> words{
    "MOVED",    "ASK",     "CROSSSLOT",  "TRYAGAIN",   "CLUSTERDOWN", "MISCONF",   "OOM",
    "READONLY", "LOADING", "MASTERDOWN", "NOAUTH",     "NOPERM",      "WRONGPASS", "WRONGTYPE",
    "NOSCRIPT", "BUSY",    "EXECABORT",  "UNKILLABLE", "NOREPLICAS",  "ERR"};
static_assert(words.size() == static_cast<std::size_t>(server_error::other) + 1);

// What is between quotes behind `before`, when it may be the name of a command.
std::string_view command_behind(std::string_view text, std::string_view before) noexcept {
  constexpr std::size_t name_max = 40;
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  const auto rest = text.substr(at + before.size());
  const auto name = rest.substr(0, rest.find('\''));
  const bool fits = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '|' || c == '-' || c == '_' ||
           c == '.';
  });
  return fits && name.size() <= name_max && name.size() < rest.size() ? name : std::string_view{};
}

}  // namespace

server_error server_error_of(std::string_view text) noexcept {
  const std::string_view word = text.substr(0, text.find_first_of(" \r\n"));
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return server_error::other;
  return static_cast<server_error>(found - words.begin());
}

std::string_view word_of(server_error e) noexcept { return words[static_cast<std::size_t>(e)]; }

/// A server may be anybody's: what it says reaches terminals and logs.
std::string printable(std::string_view text) {
  constexpr std::size_t bytes_max = 200;
  std::string shown(text.substr(0, bytes_max));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

std::string missing_right(std::string_view text) {
  if (server_error_of(text) != server_error::noperm) return {};
  const auto has = [&](std::string_view words) { return text.find(words) != text.npos; };
  if (const auto name = command_behind(text, "run the '"); !name.empty()) {
    // Redis 6 does not say which subcommand it was.
    return "allow +" + std::string(name) +
           (has("or its subcommand") ? ", or the subcommand that is needed" : "");
  }
  if (const auto name = command_behind(text, "user may not run '"); !name.empty()) {
    if (has("' on the key")) return "allow this key by a ~PATTERN";
    return "allow +" + std::string(name);
  }
  if (has("a channel") || has("the channels")) return "allow its channels by a &PATTERN";
  if (has("a key") || has("the keys")) return "allow its keys by a ~PATTERN";
  return "allow what it lacks";
}

std::string with_missing_right(std::string_view text, std::string_view page) {
  const std::string right = missing_right(text);
  return right.empty() ? printable(text)
                       : printable(text) + " (" + right + ": " + std::string(page) + ")";
}

}  // namespace holdfast::wire
