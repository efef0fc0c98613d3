#include "io/redis/redis_url.hpp"

#include "core/invalid.hpp"
#include "core/whole_number.hpp"
#include "io/file/password_file.hpp"

#include <utility>

namespace holdfast::io::redis_url {

using core::invalid;

result<bool> one_of(const core::store_url& url, const char* key, const char* on, const char* off,
                    bool otherwise) {
  const std::string value = url.value(key);
  if (value.empty()) return otherwise;
  if (value == on) return true;
  if (value == off) return false;
  return invalid(std::string("the URL's ") + key + " is '" + value + "'; it must be " + on +
                 " or " + off);
}

result<std::uint64_t> number(const std::string& text, const char* what, std::uint64_t most) {
  const auto value = core::whole_number<std::uint64_t>(text);
  if (value && *value <= most) return *value;
  return invalid(std::string("the URL's ") + what + " is '" + text +
                 "'; it must be a number from 0 to " + std::to_string(most));
}

result<redis_login> login_of(const core::store_url& url) {
  auto password = password_of(url);
  if (!password) return password.error();
  if (password->empty() && !url.user.empty()) {
    // Not which: some write the password alone there.
    return invalid(
        "the URL names a user and no password; give password_file=, or write :PASSWORD@");
  }
  redis_login login{.user = url.user,
                    .password = std::move(*password),
                    .client_name = "holdfast",
                    .database = 0,
                    .password_file = url.value("password_file"),
                    .scheme = url.scheme + (url.tls ? "+tls" : "")};
  std::string path = url.path;
  if (path.starts_with('/')) path.erase(0, 1);
  if (path.empty()) return login;
  const auto database = number(path, "database (the part after the nodes)", 1'000'000);
  if (!database) return database.error();
  login.database = static_cast<unsigned>(*database);
  return login;
}

redis_login login_again(redis_login last) {
  last.password = password_again(last.password_file, last.password);
  return last;
}

}  // namespace holdfast::io::redis_url
