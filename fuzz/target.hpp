#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

/// What libFuzzer calls, and replay.cpp when the corpus is a test.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace holdfast::fuzz {

/// The rest of an input, one byte after the other; zeros when it is used up.
class bytes {
 public:
  bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  bool empty() const noexcept { return at_ == end_; }
  std::uint8_t next() noexcept { return empty() ? std::uint8_t{0} : *at_++; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

using run_input = int (*)(const std::uint8_t* data, std::size_t size);

/// Makes a target known to replay.cpp.
struct replayed {
  replayed(const char* name, run_input run);
};

#if defined(HOLDFAST_REPLAYED_AS)
// The build gives the function above another name in each target, so that one program has them all.
static const replayed this_target(HOLDFAST_REPLAYED_AS, LLVMFuzzerTestOneInput);
#endif

[[noreturn]] inline void broken(const char* what) {
  std::fprintf(stderr, "broken: %s\n", what);
  __builtin_trap();
}

}  // namespace holdfast::fuzz

/// Ends the run when an invariant does not hold.
#define MUST(condition) ((condition) ? void(0) : ::holdfast::fuzz::broken(#condition))
