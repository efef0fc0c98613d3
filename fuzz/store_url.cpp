#include "core/store_url.hpp"

#include "fuzz/target.hpp"

using holdfast::core::store_url;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto url = store_url::parse(text);
  if (!url) {
    MUST(url.error() == holdfast::errc::invalid_argument);
    MUST(url.error().message().find("byte ") != std::string::npos);
    return 0;
  }
  MUST(!url->scheme.empty());
  const std::string printed = url->str();
  // Escapes may make it longer than what is allowed to be read.
  if (printed.size() > 4096) return 0;
  const auto again = store_url::parse(printed);
  MUST(again.has_value());
  MUST(again->scheme == url->scheme && again->tls == url->tls && again->user == url->user);
  MUST(again->hosts == url->hosts && again->path == url->path && again->query == url->query);
  MUST(again->password.empty());
  MUST(again->str() == printed);
  static_cast<void>(url->time("ttl"));
  static_cast<void>(url->only({"ttl", "group"}));
  return 0;
}
