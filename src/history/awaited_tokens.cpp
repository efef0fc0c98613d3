#include "history/awaited_tokens.hpp"

#include <algorithm>

namespace holdfast::history {

awaited_tokens::awaited_tokens(std::vector<std::uint64_t> tokens) {
  std::sort(tokens.begin(), tokens.end());
  for (const std::uint64_t t : tokens) {
    if (all_.empty() || all_.back().token != t) all_.push_back({t, 0});
    ++all_.back().left;
  }
}

std::size_t awaited_tokens::find(std::uint64_t token) const noexcept {
  const auto at = std::lower_bound(all_.begin(), all_.end(), token,
                                   [](const awaited& a, std::uint64_t t) { return a.token < t; });
  return static_cast<std::size_t>(at - all_.begin());
}

void awaited_tokens::passed(std::uint64_t token) noexcept {
  --all_[find(token)].left;
  while (lowest_ < all_.size() && all_[lowest_].left == 0) ++lowest_;
}

void awaited_tokens::take_back(std::uint64_t token) noexcept {
  const std::size_t at = find(token);
  ++all_[at].left;
  lowest_ = std::min(lowest_, at);
}

}  // namespace holdfast::history
