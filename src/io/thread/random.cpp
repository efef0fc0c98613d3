#include "io/thread/random.hpp"

#include "core/assert.hpp"
#include "io/process/fork_mark.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

namespace holdfast::io {

namespace {

void read_kernel(std::span<unsigned char> out) noexcept {
  while (!out.empty()) {
    const auto got = ::getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    HOLDFAST_ASSERT(got > 0);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

/// One thread's bytes from the kernel, each given once; a forked child begins with its own.
class reserve {
 public:
  void take(std::span<unsigned char> out) noexcept {
    const auto now = process_generation();
    if (left_ < out.size() || generation_ != now) {
      read_kernel(bytes_);
      left_ = bytes_.size();
      generation_ = now;
    }
    left_ -= out.size();
    const auto given = std::span(bytes_).subspan(left_, out.size());
    std::ranges::copy(given, out.begin());
    // What was given is nowhere here any more.
    std::ranges::fill(given, static_cast<unsigned char>(0));
  }

 private:
  std::array<unsigned char, 1'024> bytes_{};
  std::size_t left_{0};
  std::uint64_t generation_{0};
};

thread_local constinit reserve of_thread;

void fill(void* out, std::size_t size) noexcept {
  of_thread.take({static_cast<unsigned char*>(out), size});
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
