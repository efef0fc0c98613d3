#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::core {

/// A store URL taken apart: `scheme[+tls]://[user@]host:port,...[/path]?key=value&...`, or
/// `scheme:path?key=value` for engines without hosts. Pure text: nothing is resolved or opened.
struct store_url {
  std::string scheme;  ///< Lower case, without "+tls".
  bool tls{};
  std::string user;
  std::string password;            ///< Only when the text had `user:password@`; never printed.
  std::vector<std::string> hosts;  ///< "host:port", "host", "[v6]:port" or "unix:/path".
  std::string path;                ///< `local:PATH`: the path; else what follows the hosts.
  std::map<std::string, std::string> query;  ///< Percent-decoded.

  /// `invalid_argument` with what is wrong and at which byte.
  static result<store_url> parse(std::string_view text);
  /// The scheme alone, whatever follows it.
  static result<std::string> scheme_of(std::string_view text);

  /// The URL again, without password, query keys in alphabetical order.
  std::string str() const;

  /// A query value; empty when the key is absent.
  std::string value(const std::string& key) const;
  /// A query value as a duration ("30s", "500ms"); nothing when the key is absent.
  result<std::optional<duration>> time(const std::string& key) const;
  /// The same, and `invalid_argument` when it is not from `least` to `most`.
  result<std::optional<duration>> time_within(const std::string& key, duration least,
                                              duration most) const;
  /// `invalid_argument` naming the first key that is not among `known`, and those that are.
  result<void> only(const std::vector<std::string>& known) const;
};

/// `invalid_argument`: "WHAT is 1ms; it must be from 100ms to 1h".
error not_within(const std::string& what, duration value, duration least, duration most);

}  // namespace holdfast::core
