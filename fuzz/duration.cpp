#include <holdfast/duration.hpp>

#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto d = holdfast::parse_duration(text);
  if (!d) {
    MUST(d.error() == holdfast::errc::invalid_argument);
    for (const char c : d.error().message()) MUST(c >= ' ' && c < 0x7f);
    return 0;
  }
  MUST(*d >= holdfast::duration::zero() && *d < holdfast::forever);
  const auto again = holdfast::parse_duration(holdfast::print_duration(*d));
  MUST(again.has_value() && *again == *d);
  return 0;
}
