#include "fence/floor_codec.hpp"
#include "fuzz/target.hpp"

#include <algorithm>
#include <cstring>

/// Two pages of a floor file: whatever is read is in range and is written in the same way.

namespace {

using namespace holdfast::fencing;

void check(const copies& c) {
  const floors& f = c.what.kept.now;
  MUST(f.floor <= f.newest && f.newest <= holdfast::token_max);
  if (c.is == copies::state::blank || c.is == copies::state::damaged) return;
  MUST(holdfast::lock_name(c.what.resource).check());
  MUST(!c.what.kept.from || c.what.kept.from->check());
  const page again = encode(c.what, 1);
  const auto read = decode(again, 1);
  MUST(read && *read == c.what);
  MUST(!decode(again, 2));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  page first{};
  page second{};
  const std::size_t one = std::min(size, page_bytes);
  if (one != 0) std::memcpy(first.data(), data, one);
  const std::size_t two = std::min(size - one, page_bytes);
  if (two != 0) std::memcpy(second.data(), data + one, two);
  for (const bool last : {false, true}) check(read_copies(first, second, 1, last));
  return 0;
}
