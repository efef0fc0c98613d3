#include "io/net/slow_resolver_fixture.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace {

std::atomic<bool> hangs{false};
std::atomic<int> asked{0};
std::mutex its_mutex;
std::vector<std::string> leads_to;

std::vector<std::string> answer_now() {
  const std::lock_guard hold(its_mutex);
  return leads_to;
}

}  // namespace

extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints,
                           addrinfo** found) {
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto system = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool is_slow = host != nullptr && std::string_view(host).ends_with(".slow");
  if (!is_slow || (hints->ai_flags & AI_NUMERICHOST) != 0) return system(host, port, hints, found);
  ++asked;
  while (hangs) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  for (const auto& number : answer_now()) {
    if (const int failed = system(number.c_str(), port, hints, found); failed != 0) return failed;
    // freeaddrinfo() frees one after the other, whoever has joined them.
    while (*found != nullptr) found = &(*found)->ai_next;
  }
  return 0;
}

namespace holdfast::io {

slow_resolver::slow_resolver() {
  lead_to({"127.0.0.1"});
  asked = 0;
  hangs = true;
}
slow_resolver::~slow_resolver() { answer(); }
void slow_resolver::answer() noexcept { hangs = false; }
void slow_resolver::lead_to(std::vector<std::string> numbers) {
  const std::lock_guard hold(its_mutex);
  leads_to = std::move(numbers);
}
int slow_resolver::questions() const noexcept { return asked; }

}  // namespace holdfast::io
