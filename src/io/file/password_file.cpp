#include "io/file/password_file.hpp"

#include "core/invalid.hpp"
#include "io/file/files.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace holdfast::io {

namespace {

using core::invalid;

/// What passes by itself, say a shortage of descriptors, is no fault of the URL.
error unread(const error& why) {
  const std::string text = "the URL's password_file: " + why.message();
  const bool passes = why == errc::unavailable && !why.needs_operator();
  return passes ? why.reworded(text) : error(invalid(text));
}

result<std::string> password_in(const std::string& path) {
  // Kubernetes and others who mount secrets replace them by links.
  std::error_code failed;
  const auto file = std::filesystem::canonical(path, failed);
  if (failed == std::errc::no_such_file_or_directory) {
    return invalid("the URL's password_file " + path + " is not there");
  }
  if (failed) return invalid("the URL's password_file " + path + ": " + failed.message());
  const std::string directory = file.parent_path().string();
  const auto opened = open_directory(directory);
  if (!opened) return unread(opened.error());
  const auto text = read_text({opened->get(), directory}, file.filename().c_str(), 4096);
  if (!text) return unread(text.error());
  if (!*text) return invalid("the URL's password_file " + path + " is not there");
  std::string password = **text;
  while (!password.empty() && (password.back() == '\n' || password.back() == '\r')) {
    password.pop_back();
  }
  // A secret that was never filled in would turn a login off without a word.
  if (password.empty()) return invalid("the URL's password_file " + path + " is empty");
  return password;
}

}  // namespace

result<std::string> password_of(const core::store_url& url) {
  const std::string path = url.value("password_file");
  if (path.empty()) return url.password;
  if (!url.password.empty()) return invalid("the URL has a password and a password_file; give one");
  if (path.front() != '/') {
    return invalid("the URL's password_file is '" + path + "'; it must be an absolute path");
  }
  return password_in(path);
}

std::string password_again(const std::string& file, const std::string& last) {
  if (file.empty()) return last;
  auto now = password_in(file);
  return now ? std::move(*now) : last;
}

}  // namespace holdfast::io
