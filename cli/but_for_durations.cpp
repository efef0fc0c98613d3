#include "cli/but_for_durations.hpp"

#include <holdfast/duration.hpp>

#include <algorithm>

namespace holdfast::cli {

namespace {

/// Of words, and of the numbers in them.
bool is_inside(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
}

}  // namespace

std::string but_for_durations(std::string_view text) {
  std::string rest;
  while (!text.empty()) {
    const auto end = std::ranges::find_if_not(text, is_inside);
    std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    // A full stop is no part of it.
    while (word.ends_with('.')) word.remove_suffix(1);
    if (!parse_duration(word)) rest += word;
    text.remove_prefix(word.size());
    if (text.empty()) break;
    rest += text.front();
    text.remove_prefix(1);
  }
  return rest;
}

}  // namespace holdfast::cli
