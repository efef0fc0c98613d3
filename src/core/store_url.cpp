#include "core/store_url.hpp"

#include "core/control_character.hpp"
#include "core/hexadecimal.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

/// By hand and not by RFC 3986: there are several hosts, sockets among them, and people write
/// passwords as they are. An @ where none may be is refused and not guessed at, for what stands
/// around it may be a part of a password, which no message may show.

namespace holdfast::core {

namespace {

constexpr std::size_t text_max = 4096;
constexpr char upper_digits[] = "0123456789ABCDEF";  // As RFC 3986 recommends.

/// Never repeats the text: it may hold a password.
error bad(std::size_t at, const std::string& why) {
  return error(errc::invalid_argument, "store URL, byte " + std::to_string(at) + ": " + why);
}

/// Of either case, and of what need not be escaped: people write these, where percent.hpp reads
/// what holdfast wrote.
result<std::string> decoded(std::string_view text, std::size_t at) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const bool has_two = i + 2 < text.size();
    const auto high = has_two ? digit_value(text[i + 1]) : std::nullopt;
    const auto low = has_two ? digit_value(text[i + 2]) : std::nullopt;
    if (!high || !low) return bad(at + i, "% needs two hexadecimal digits");
    const auto byte = static_cast<unsigned char>(*high * 16 + *low);
    if (is_control(byte)) return bad(at + i, "a control character");
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

/// `also`: what would be read as the end of it.
std::string encoded(const std::string& text, std::string_view also = {}) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte > 0x20 && byte < 0x7f && c != '%' && c != '&' && c != '=' && c != '#' &&
                       also.find(c) == std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      out.append("%").append(1, upper_digits[byte >> 4]).append(1, upper_digits[byte & 15]);
    }
  }
  return out;
}

result<void> read_scheme(store_url& url, std::string_view scheme) {
  constexpr std::string_view tls = "+tls";
  std::string lower(scheme);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (lower.ends_with(tls)) {
    url.tls = true;
    lower.resize(lower.size() - tls.size());
  }
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const bool letter = lower[i] >= 'a' && lower[i] <= 'z';
    const bool later = (lower[i] >= '0' && lower[i] <= '9') || lower[i] == '-';
    if (!letter && (i == 0 || !later)) return bad(i, "a scheme has letters, digits and - only");
  }
  if (lower.empty()) return bad(0, "no scheme; write it like local:/var/lib/holdfast");
  url.scheme = std::move(lower);
  return {};
}

/// Where the scheme that it has read ends.
result<std::size_t> scheme_end(store_url& url, std::string_view text) {
  if (text.size() > text_max) return bad(text_max, "longer than 4096 bytes");
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (is_control(byte)) return bad(i, "a control character");
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return bad(0, "no scheme; write it like local:/var/lib/holdfast");
  }
  if (auto ok = read_scheme(url, text.substr(0, colon)); !ok) return ok.error();
  return colon;
}

bool is_unix(std::string_view host) noexcept { return host.starts_with("unix:"); }

/// Where a URL was cut inside a password, its parts are no hosts, paths and options to be quoted.
error unescaped(std::size_t at) {
  return bad(at,
             "an @ behind / , or ?; write / ? , # and @ of a password as %2f %3f %2c %23 %40, or "
             "use password_file= (and @ in a path behind servers is %40)");
}

result<void> read_hosts(store_url& url, std::string_view list, std::size_t at) {
  while (true) {
    const std::size_t end = std::min(list.find(','), list.size());
    const auto host = list.substr(0, end);
    if (host.empty()) return bad(at, "an empty host");
    if (!is_unix(host) && host.find('@') != std::string_view::npos) return unescaped(at);
    url.hosts.emplace_back(host);
    if (end == list.size()) return {};
    list.remove_prefix(end + 1);
    at += end + 1;
  }
}

/// Where the hosts end: at the first slash that is not part of a `unix:/path` host.
std::size_t authority_end(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(",/", at), text.size());
    if (is_unix(text.substr(at))) {
      at = std::min(text.find(',', at), text.size());
    } else if (end == text.size() || text[end] == '/') {
      return end;
    } else {
      at = end;
    }
    ++at;
  }
  return text.size();
}

result<void> read_authority(store_url& url, std::string_view text, std::size_t at) {
  const std::size_t sign = text.substr(0, text.find_first_of("/,")).rfind('@');
  if (sign != std::string_view::npos) {
    const auto who = text.substr(0, sign);
    const std::size_t colon = std::min(who.find(':'), who.size());
    auto user = decoded(who.substr(0, colon), at);
    if (!user) return user.error();
    url.user = std::move(*user);
    if (colon < who.size()) {
      auto password = decoded(who.substr(colon + 1), at + colon + 1);
      if (!password) return password.error();
      url.password = std::move(*password);
    }
    text.remove_prefix(sign + 1);
    at += sign + 1;
  }
  const std::size_t end = authority_end(text);
  if (text.find('@', end) != std::string_view::npos) return unescaped(at + end);
  url.path = text.substr(end);
  for (auto sign_at = url.path.find("%40"); sign_at != std::string::npos;) {
    url.path.replace(sign_at, 3, "@");
    sign_at = url.path.find("%40", sign_at);
  }
  return read_hosts(url, text.substr(0, end), at);
}

/// True for "user:password", which is cut where the password has a `?`.
bool has_no_port(std::string_view host) noexcept {
  const std::size_t colon = host.find(':');
  if (colon == std::string_view::npos || is_unix(host) || host.starts_with('[')) return false;
  return host.find_first_not_of("0123456789", colon + 1) != std::string_view::npos;
}

/// Of the options of stores with hosts only names of files may have an @.
result<void> check_signs(const store_url& url, std::string_view query, std::size_t at) {
  if (query.find('@') == std::string_view::npos) return {};
  if (std::ranges::any_of(url.hosts, has_no_port)) return unescaped(at);
  while (!query.empty()) {
    const auto pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.find('@') == std::string_view::npos) continue;
    const auto key = pair.substr(0, pair.find('='));
    constexpr std::array<std::string_view, 4> files = {"password_file", "ca", "cert", "key"};
    if (std::ranges::find(files, key) == files.end()) return unescaped(at);
  }
  return {};
}

result<void> read_query(store_url& url, std::string_view text, std::size_t at) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const auto pair = text.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string_view::npos) return bad(at, "expected key=value");
    auto key = decoded(pair.substr(0, equals), at);
    if (!key) return key.error();
    auto value = decoded(pair.substr(equals + 1), at + equals + 1);
    if (!value) return value.error();
    // A variable that is not set: the default would be no password, or another CA.
    if (value->empty()) {
      return bad(at + equals + 1, "a key without a value; leave out the key for its default");
    }
    if (!url.query.emplace(std::move(*key), std::move(*value)).second) {
      return bad(at, "a key is given twice");
    }
    const std::size_t used = std::min(end + 1, text.size());
    text.remove_prefix(used);
    at += used;
  }
  return {};
}

}  // namespace

result<std::string> store_url::scheme_of(std::string_view text) {
  store_url url;
  if (const auto read = scheme_end(url, text); !read) return read.error();
  return std::move(url.scheme);
}

result<store_url> store_url::parse(std::string_view text) {
  store_url url;
  const auto read = scheme_end(url, text);
  if (!read) return read.error();
  const std::size_t colon = *read;
  const std::size_t question = std::min(text.find('?', colon), text.size());
  const auto body = text.substr(colon + 1, question - colon - 1);
  const auto query = question < text.size() ? text.substr(question + 1) : std::string_view();
  if (body.starts_with("//") && url.scheme != "local" && url.scheme != "memory") {
    if (auto ok = read_authority(url, body.substr(2), colon + 3); !ok) return ok.error();
    if (auto ok = check_signs(url, query, question + 1); !ok) return ok.error();
  } else {
    url.path = body;
  }
  if (auto ok = read_query(url, query, question + 1); !ok) return ok.error();
  return url;
}

std::string store_url::str() const {
  std::string text = scheme + (tls ? "+tls:" : ":");
  if (!hosts.empty()) {
    text += "//";
    if (!user.empty()) text += encoded(user, ":/,?@") + "@";
    for (std::size_t i = 0; i < hosts.size(); ++i) text += (i == 0 ? "" : ",") + hosts[i];
  }
  std::string rest = path;
  char separator = '?';
  for (const auto& [key, value] : query) {
    rest += separator + encoded(key) + "=" + encoded(value);
    separator = '&';
  }
  // Behind hosts an @ is read as a part of a password that was cut.
  for (const char c : rest) text += c == '@' && !hosts.empty() ? "%40" : std::string(1, c);
  return text;
}

std::string store_url::value(const std::string& key) const {
  const auto at = query.find(key);
  return at == query.end() ? std::string() : at->second;
}

result<std::optional<duration>> store_url::time(const std::string& key) const {
  const auto at = query.find(key);
  if (at == query.end()) return std::optional<duration>();
  const auto value = parse_duration(at->second);
  if (!value) {
    return holdfast::error(errc::invalid_argument,
                           "store URL, " + key + ": " + value.error().message());
  }
  return std::optional<duration>(*value);
}

result<std::optional<duration>> store_url::time_within(const std::string& key, duration least,
                                                       duration most) const {
  auto value = time(key);
  if (!value || !*value || (**value >= least && **value <= most)) return value;
  return not_within("the URL's " + key, **value, least, most);
}

error not_within(const std::string& what, duration value, duration least, duration most) {
  return {errc::invalid_argument, what + " is " + print_duration(value) + "; it must be from " +
                                      print_duration(least) + " to " + print_duration(most)};
}

result<void> store_url::only(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : query) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string text = "store URL: " + scheme + " has no option \"" + encoded(key) + "\"; it has ";
    // Every store has these two, whether its engine names them or not.
    for (const std::string& one : known) {
      if (one != "ttl" && one != "max_ttl") text += one + ", ";
    }
    text += "ttl and max_ttl";
    return holdfast::error(errc::invalid_argument, std::move(text));
  }
  return {};
}

}  // namespace holdfast::core
