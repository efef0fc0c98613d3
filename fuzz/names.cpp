#include <holdfast/lock_name.hpp>
#include <holdfast/session_id.hpp>

#include "fuzz/target.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };

  const holdfast::lock_name name(text);
  const bool controls = std::any_of(text.begin(), text.end(), is_control);
  MUST(name.check().has_value() == (size >= 1 && size <= 512 && !controls));
  const std::string printed = name.printable();
  MUST(std::none_of(printed.begin(), printed.end(), is_control));
  MUST(printed.find_first_of("\"'") == std::string::npos);
  // What is printed is ASCII or valid UTF-8: printing it again changes backslashes only.
  std::string plain = printed;
  std::replace(plain.begin(), plain.end(), '\\', '/');
  MUST(holdfast::lock_name(plain).printable() == plain);

  const auto id = holdfast::session_id::parse(text);
  if (!id) return 0;
  MUST(id->str().size() == 32);
  MUST(holdfast::session_id::parse(id->str()) == id);
  return 0;
}
