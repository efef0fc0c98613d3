#include "io/password_file.hpp"

#include "io/files.hpp"

#include <utility>

namespace holdfast::io {

namespace {

error wrong(std::string text) { return {errc::invalid_argument, std::move(text)}; }

}  // namespace

result<std::string> password_of(const core::store_url& url) {
  const std::string path = url.value("password_file");
  if (path.empty()) return url.password;
  if (!url.password.empty()) return wrong("the URL has a password and a password_file; give one");
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) {
    return wrong("the URL's password_file is '" + path + "'; it must be an absolute path");
  }
  const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
  const auto opened = open_directory(directory);
  if (!opened) return wrong(opened.error().message());
  const std::string name = path.substr(slash + 1);
  const auto text = read_text({opened->get(), directory}, name.c_str(), 4096);
  if (!text) return wrong(text.error().message());
  if (!*text) return wrong("the URL's password_file " + path + " is not there");
  std::string password = **text;
  while (!password.empty() && (password.back() == '\n' || password.back() == '\r')) {
    password.pop_back();
  }
  return password;
}

}  // namespace holdfast::io
