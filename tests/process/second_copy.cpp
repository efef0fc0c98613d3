// A plug-in with a copy of the library of its own, as a program gets one that links it statically
// into an extension.

#include <holdfast/session.hpp>

#include <cstddef>
#include <cstdio>
#include <optional>

namespace {

std::optional<holdfast::session> own;

}  // namespace

/// Zero, or the errc, whose sentence is in `why` then.
extern "C" __attribute__((visibility("default"))) int second_copy_open(const char* url, char* why,
                                                                       std::size_t room) {
  auto made = holdfast::open(url);
  if (!made) {
    std::snprintf(why, room, "%s", made.error().message().c_str());
    return static_cast<int>(made.error().code());
  }
  own.emplace(std::move(*made));
  return 0;
}

extern "C" __attribute__((visibility("default"))) void second_copy_close() { own.reset(); }
