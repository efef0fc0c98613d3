#include "cli/settings.hpp"

#include "cli/config_reader.hpp"
#include "cli/home_directory.hpp"

#include <holdfast/duration.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace holdfast::cli {

namespace {

constexpr const char* machine_file = "/etc/holdfast/config.toml";

std::size_t index_of(key which) noexcept { return static_cast<std::size_t>(which); }

std::string user_file() {
  if (const char* base = std::getenv("XDG_CONFIG_HOME"); base != nullptr && *base == '/') {
    return std::string(base) + "/holdfast/config.toml";
  }
  const std::string home = home_directory();
  return home.empty() ? "" : home + "/.config/holdfast/config.toml";
}

/// A user of another store than the others of the machine excludes nobody.
config_fault machine_file_hidden(const std::string& why) {
  return {why +
          ", and with it which store this machine uses; let everybody search the directories "
          "above it (chmod 755), or set HOLDFAST_CONFIG to another file, or to nothing for none"};
}

/// Where a URL has "user:password@", or less of it, behind "//".
struct login {
  std::size_t begin{};
  std::size_t colon{};  ///< The sign, where there is none.
  std::size_t sign{};
};

std::optional<login> login_in(std::string_view url) {
  const std::size_t start = url.find("://");
  if (start == std::string_view::npos) return std::nullopt;
  const std::string_view authority = url.substr(0, url.find_first_of("/?", start + 3));
  const std::size_t sign = authority.rfind('@');
  if (sign == std::string_view::npos || sign < start) return std::nullopt;
  return login{start + 3, std::min(authority.find(':', start + 3), sign), sign};
}

/// What the engines know, all of them together: no secrets. The value of another key may be one,
/// as that of the `password` of other clients.
constexpr std::array<std::string_view, 14> url_keys{
    "ttl",   "max_ttl",       "node_timeout", "assume_fresh", "replicas", "tokens", "may_evict",
    "group", "password_file", "extensions",   "ca",           "cert",     "key",    "verify"};

/// What follows the question mark, with that.
std::string with_known_values(std::string_view query) {
  std::string shown;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    const std::size_t equals = pair.find('=');
    const bool known = std::ranges::find(url_keys, pair.substr(0, equals)) != url_keys.end();
    // Without a key it may be the rest of a password.
    const std::size_t key_end = known ? pair.size() : equals < pair.size() ? equals + 1 : 0;
    shown += pair.substr(0, key_end);
    if (key_end < pair.size()) shown += "...";
    query.remove_prefix(pair.size());
    if (query.empty()) break;
    shown += '&';
    query.remove_prefix(1);
  }
  return shown;
}

bool only_files_have_signs(std::string_view query) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::string_view key = pair.substr(0, pair.find('='));
    const bool is_file = key == "password_file" || key == "ca" || key == "cert" || key == "key";
    if (!is_file && pair.find('@') != std::string_view::npos) return false;
  }
  return true;
}

/// Where what is behind the scheme begins; that has no "//" where somebody mistyped it.
std::size_t behind_scheme(std::string_view url) {
  const std::size_t start = url.find("://");
  return start == std::string_view::npos ? url.find(':') + 1 : start + 3;
}

/// No URL that can be opened: a password with / , or ? in it may be anywhere behind "//". As the
/// library reads it, or stricter.
bool cuts_a_password(std::string_view url) {
  if (url.starts_with("local:") || url.starts_with("memory:")) return false;
  const std::size_t start = url.find("://");
  if (start == std::string_view::npos) return url.find('@') != std::string_view::npos;
  const std::size_t question = std::min(url.find('?', start), url.size());
  if (!only_files_have_signs(url.substr(std::min(question + 1, url.size())))) return true;
  std::string_view body = url.substr(start + 3, question - start - 3);
  const std::size_t sign = body.substr(0, body.find_first_of("/,")).rfind('@');
  if (sign != std::string_view::npos) body.remove_prefix(sign + 1);
  const bool signs_behind = url.find('@', question) != std::string_view::npos;
  while (!body.empty()) {
    const bool is_unix = body.starts_with("unix:");
    const std::size_t end = std::min(body.find_first_of(is_unix ? "," : ",/"), body.size());
    const std::string_view host = body.substr(0, end);
    if (!is_unix && host.find('@') != std::string_view::npos) return true;
    const bool port = host.find_first_not_of("0123456789", host.rfind(':') + 1) == host.npos;
    const bool is_named = !is_unix && !host.starts_with('[');
    if (signs_behind && is_named && host.find(':') != host.npos && !port) return true;
    if (end < body.size() && body[end] == '/') return body.find('@') != std::string_view::npos;
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  return false;
}

}  // namespace

std::string setting::origin_text() const {
  switch (from) {
    case origin::none:
    case origin::built_in:
      return "default";
    case origin::environment:
      return "environment " + place;
    case origin::option:
      return "option " + place;
    case origin::file:
      break;
  }
  return place;
}

std::string setting::file() const {
  if (from != origin::file) return {};
  return place.substr(0, place.rfind(':', place.rfind(':') - 1));
}

const std::array<key_info, 6>& all_keys() noexcept {
  static constexpr std::array<key_info, 6> keys{{
      {key::store, "store", "HOLDFAST_STORE", "local: (this machine)"},
      {key::ttl, "ttl", "HOLDFAST_TTL", "the URL's, else 30s or a shorter max_ttl"},
      {key::grace, "grace", "HOLDFAST_GRACE", "5s, at most a quarter of the ttl"},
      {key::wait, "wait", "HOLDFAST_WAIT", "forever"},
      {key::label, "label", "HOLDFAST_LABEL", "none"},
      {key::instance, "instance", "HOLDFAST_INSTANCE", "none"},
  }};
  return keys;
}

const key_info& info_of(key which) noexcept { return all_keys()[index_of(which)]; }

result<duration> read_duration(key which, std::string_view text) {
  if (which != key::wait) return parse_duration(text);
  if (text == "forever") return forever;
  auto d = parse_duration(text);
  if (!d) return error(d.error().code(), d.error().message() + ", or forever");
  return d;
}

std::optional<config_fault> settings::load(settings& into) {
  std::vector<std::pair<std::string, bool>> files;  // Whether it is a fault that it is missing.
  if (const char* one = std::getenv("HOLDFAST_CONFIG"); one != nullptr) {
    if (*one != '\0') files.emplace_back(one, true);
  } else {
    files.emplace_back(machine_file, false);
    if (const std::string mine = user_file(); !mine.empty()) files.emplace_back(mine, false);
  }
  for (const auto& [file, must_exist] : files) {
    // Most machines have none: then the parser is never entered, which saves start-up time.
    const int seen = must_exist || ::access(file.c_str(), F_OK) == 0 ? 0 : errno;
    if (seen == ENOENT || seen == ENOTDIR) continue;
    if (seen != 0) {
      const std::string why = file + ": whether it is there cannot be seen: " + std::strerror(seen);
      if (file == machine_file) return machine_file_hidden(why);
      into.hidden_ = why + "; it was not read";
      continue;
    }
    if (auto fault = config_reader::read(file, into)) {
      if (must_exist) fault->text += "; HOLDFAST_CONFIG names that file";
      return fault;
    }
    into.files_.push_back(file);
  }
  for (const key_info& k : all_keys()) {
    const char* value = std::getenv(k.environment);
    // An empty store is kept, to be refused where no option wins over it.
    if (value == nullptr || (*value == '\0' && k.which != key::store)) continue;
    into.values_[index_of(k.which)] = {value, origin::environment, k.environment};
  }
  return std::nullopt;
}

void settings::set_option(key which, std::string value) {
  values_[index_of(which)] = {std::move(value), origin::option,
                              std::string("--") + info_of(which).name};
}

const setting& settings::operator[](key which) const noexcept { return values_[index_of(which)]; }

bool has_password(std::string_view url) {
  const auto found = login_in(url);
  return cuts_a_password(url) || (found && found->colon < found->sign);
}

std::string password_file_in(std::string_view url) {
  constexpr std::string_view name = "password_file=";
  std::size_t at = std::min(url.find('?'), url.size());
  while (at < url.size() && !url.substr(at + 1).starts_with(name)) at = url.find('&', at + 1);
  if (at >= url.size()) return {};
  std::string_view value = url.substr(at + 1 + name.size());
  value = value.substr(0, value.find('&'));
  std::string path;
  for (std::size_t i = 0; i < value.size(); ++i) {
    unsigned byte{};
    const char* digits = value.data() + i + 1;
    const bool coded = value[i] == '%' && i + 2 < value.size() &&
                       std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    path += coded ? static_cast<char>(byte) : value[i];
    i += coded ? 2 : 0;
  }
  return path;
}

bool everybody_reads(const std::string& file) {
  struct stat seen {};
  return ::stat(file.c_str(), &seen) == 0 && S_ISREG(seen.st_mode) && (seen.st_mode & S_IROTH) != 0;
}

std::string needless_readers_of(const std::string& password_file) {
  if (everybody_reads(password_file)) return "every user of this machine";
  struct stat seen {};
  if (::stat(password_file.c_str(), &seen) != 0 || !S_ISREG(seen.st_mode)) return {};
  return (seen.st_mode & S_IRGRP) != 0 && seen.st_uid == ::geteuid() ? "its group" : "";
}

bool is_for_a_store(std::string_view word) {
  constexpr std::array<std::string_view, 7> schemes{"redis", "rediss",    "valkey", "redlock",
                                                    "etcd",  "zookeeper", "zk"};
  constexpr std::string_view tls = "+tls";
  const std::size_t slashes = word.find("://");
  const bool is_url = slashes != std::string_view::npos;
  std::string before(word.substr(0, is_url ? slashes : std::min(word.find(':'), word.size())));
  std::ranges::transform(before, before.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (before.ends_with(tls)) before.resize(before.size() - tls.size());
  if (!is_url && before.size() == word.size()) return false;
  // An option may stand before it.
  return std::ranges::any_of(schemes, [&](std::string_view scheme) {
    return is_url || word.starts_with('-') ? before.ends_with(scheme) : before == scheme;
  });
}

std::string without_its_password(std::string_view word) {
  std::string shown(word);
  const auto found = login_in(word);
  if (found) shown.erase(found->colon, found->sign - found->colon);
  return shown;
}

std::string without_password(std::string_view url) {
  if (cuts_a_password(url)) return std::string(url.substr(0, behind_scheme(url))) + "...";
  const std::size_t query = std::min(url.find('?'), url.size() - 1) + 1;
  std::string shown(url.substr(0, query));
  if (const auto found = login_in(url)) {
    // Other clients take a password alone, and here it would stand where a user does.
    const bool is_user = found->colon < found->sign || !password_file_in(url).empty();
    const std::size_t from = is_user ? found->colon : found->begin;
    const bool hides = !is_user && found->begin < found->sign;
    shown.replace(from, found->sign - from, hides ? "..." : "");
  }
  return shown + with_known_values(url.substr(query));
}

}  // namespace holdfast::cli
