#include "io/random.hpp"

#include "core/assert.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>

namespace holdfast::io {

namespace {

void fill(void* out, std::size_t size) noexcept {
  auto* at = static_cast<unsigned char*>(out);
  while (size > 0) {
    const auto got = ::getrandom(at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    HOLDFAST_ASSERT(got > 0);
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace

std::uint64_t random_bits() noexcept {
  std::uint64_t bits{};
  fill(&bits, sizeof bits);
  return bits;
}

session_id random_session_id() noexcept {
  session_id id;
  fill(id.bytes.data(), id.bytes.size());
  return id;
}

}  // namespace holdfast::io
