#include "cli/config_reader.hpp"

#include "cli/near_match.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

// The parser's code is compiled into this file, for Debian has it as a shared library only, and
// every shared library costs start-up time.
#define TOML_HEADER_ONLY 0
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>

namespace holdfast::cli {

namespace {

config_fault fault_at(const std::string& file, const toml::source_region& where,
                      const std::string& what) {
  return {file + ":" + std::to_string(where.begin.line) + ":" + std::to_string(where.begin.column) +
          ": " + what};
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const key_info& k : all_keys()) names.emplace_back(k.name);
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

const key_info* find_key(std::string_view name) {
  for (const key_info& k : all_keys()) {
    if (name == k.name) return &k;
  }
  return nullptr;
}

bool is_duration(key which) {
  return which == key::ttl || which == key::grace || which == key::wait;
}

std::string advice_to_quote(const key_info& k) {
  return std::string(k.name) + " must be a text in quotes, as in " + k.name + " = \"" +
         (is_duration(k.which)    ? "30s"
          : k.which == key::store ? "local:"
                                  : "...") +
         "\"";
}

/// Where a line that cannot be read gives a setting without quotes: that it lacks them.
std::string forgotten_quotes(std::string_view text, toml::source_index line) {
  for (; line > 1 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  text = text.substr(0, text.find('\n'));
  const auto trimmed = [](std::string_view word) {
    const auto from = std::min(word.find_first_not_of(" \t\r"), word.size());
    return word.substr(from, word.find_last_not_of(" \t\r") + 1 - from);
  };
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return {};
  const key_info* k = find_key(trimmed(text.substr(0, equals)));
  const auto value = trimmed(text.substr(equals + 1));
  const bool bare = !value.empty() && std::string_view("\"'#").find(value[0]) == value.npos;
  return k != nullptr && bare ? "; " + advice_to_quote(*k) : std::string();
}

}  // namespace

std::optional<config_fault> config_reader::read(const std::string& file, settings& into) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  // An ifstream opens a folder without complaint and fails at the first read.
  if (!in.is_open() || in.bad() || bytes.fail()) {
    const int why = errno;
    if (!in.is_open() || why != 0) return config_fault{file + ": " + std::strerror(why)};
  }
  toml::table table;
  try {
    table = toml::parse(std::string_view(bytes.view()), std::string_view(file));
  } catch (const toml::parse_error& e) {
    return fault_at(
        file, e.source(),
        std::string(e.description()) + forgotten_quotes(bytes.view(), e.source().begin.line));
  }
  for (const auto& [name, value] : table) {
    const key_info* k = find_key(name.str());
    if (k == nullptr) {
      return fault_at(file, name.source(),
                      "unknown setting \"" + std::string(name.str()) + "\"" +
                          hint(name.str(), known_names()) + "; known are " + joined(known_names()));
    }
    const auto text = value.value_exact<std::string>();
    if (!text) return fault_at(file, value.source(), advice_to_quote(*k));
    if (k->which == key::store && text->empty()) {
      return fault_at(file, value.source(), "store is empty: take it out, or name a store");
    }
    if (is_duration(k->which)) {
      if (const auto d = read_duration(k->which, *text); !d) {
        return fault_at(file, value.source(), std::string(k->name) + ": " + d.error().message());
      }
    }
    const toml::source_position at = value.source().begin;
    into.values_[static_cast<std::size_t>(k->which)] = {
        *text, origin::file,
        file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column)};
  }
  return std::nullopt;
}

}  // namespace holdfast::cli
