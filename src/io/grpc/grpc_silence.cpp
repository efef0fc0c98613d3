#include "io/grpc/grpc_silence.hpp"

#include "io/grpc/grpc_trouble.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::io {

void grpc_silence::late(bool taken) {
  silence_.late(clock::now());
  // Not taken by its deadline is as good as refused: another connection may lead to one that takes
  // it.
  if (!taken) refused();
}

void grpc_silence::refused() {
  untaken_since_ = std::min(untaken_since_, clock::now());
  was_untaken_ = true;
}

std::optional<error> grpc_silence::why_leave() {
  // A connection that is asked nothing is not left for what it refused long ago.
  const bool was_untaken = std::exchange(was_untaken_, false);
  if (!was_untaken && due() == time_point::max()) return {};
  const auto now = clock::now();
  if (now >= due()) return fell_silent(most_);
  if (was_untaken && now - untaken_since_ >= most_) return takes_no_calls(most_);
  return {};
}

}  // namespace holdfast::io
