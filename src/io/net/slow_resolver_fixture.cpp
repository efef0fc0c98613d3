#include "io/net/slow_resolver_fixture.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

namespace {

std::atomic<bool> hangs{false};
std::atomic<int> asked{0};

}  // namespace

extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto system = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool is_slow = host != nullptr && std::string_view(host).ends_with(".slow");
  if (!is_slow || (hints->ai_flags & AI_NUMERICHOST) != 0) return system(host, port, hints, found);
  ++asked;
  while (hangs) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  return system("127.0.0.1", port, hints, found);
}

namespace holdfast::io {

slow_resolver::slow_resolver() noexcept {
  asked = 0;
  hangs = true;
}
slow_resolver::~slow_resolver() { answer(); }
void slow_resolver::answer() noexcept { hangs = false; }
int slow_resolver::questions() const noexcept { return asked; }

}  // namespace holdfast::io
