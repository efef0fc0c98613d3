#include "fence/log_names.hpp"

#include <array>
#include <charconv>

namespace holdfast::fencing {
namespace {

constexpr std::string_view inline_prefix = "inline.";
constexpr std::string_view segment_prefix = "segment.";
constexpr std::string_view mark_prefix = "mark.";
constexpr std::string_view cut_prefix = "cut.";
constexpr std::string_view draft_prefix = "draft.";
constexpr std::string_view founding_prefix = "founding.";
constexpr std::size_t digits = 20;

std::string name_of(std::string_view prefix, const segment_id& id) {
  return std::string(prefix) + std::to_string(id.of.token().value) + "." +
         std::to_string(id.of.opening()) + "." + std::to_string(id.ordinal);
}

/// Decimal numbers with a dot between them, and nothing else.
template <std::size_t Count>
bool numbers_in(std::string_view text, std::array<std::uint64_t, Count>& into) {
  for (std::size_t i = 0; i < Count; ++i) {
    if (text.empty() || text.front() < '0' || text.front() > '9') return false;
    const auto [at, failed] = std::from_chars(text.data(), text.data() + text.size(), into[i]);
    if (failed != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    if (i + 1 == Count) return text.empty();
    if (text.empty() || text.front() != '.') return false;
    text.remove_prefix(1);
  }
  return false;
}

std::optional<segment_id> id_in(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::array<std::uint64_t, 3> n{};
  if (!numbers_in(name.substr(prefix.size()), n)) return std::nullopt;
  if (n[0] > token_max.value || n[1] > log_epoch::openings_max || n[2] > UINT32_MAX) {
    return std::nullopt;
  }
  return segment_id{{(n[0] << log_epoch::opening_bits) | n[1]}, static_cast<std::uint32_t>(n[2])};
}

}  // namespace

std::string inline_name(std::uint64_t version) {
  const std::string number = std::to_string(version);
  return std::string(inline_prefix) + std::string(digits - number.size(), '0') + number;
}
std::string segment_name(const segment_id& of) { return name_of(segment_prefix, of); }
std::string mark_name(const segment_id& of) { return name_of(mark_prefix, of); }
std::string cut_name(const segment_id& of) { return name_of(cut_prefix, of); }
std::string draft_name(const segment_id& of) { return name_of(draft_prefix, of); }

std::optional<std::uint64_t> version_in(std::string_view name) {
  if (!name.starts_with(inline_prefix)) return std::nullopt;
  name.remove_prefix(inline_prefix.size());
  std::array<std::uint64_t, 1> n{};
  if (name.size() != digits || !numbers_in(name, n)) return std::nullopt;
  return n[0];
}
std::optional<segment_id> segment_in(std::string_view name) { return id_in(segment_prefix, name); }
std::optional<segment_id> mark_in(std::string_view name) { return id_in(mark_prefix, name); }
std::optional<segment_id> cut_in(std::string_view name) { return id_in(cut_prefix, name); }
std::optional<segment_id> draft_in(std::string_view name) { return id_in(draft_prefix, name); }

std::string founding_draft(std::string_view of, std::uint64_t random) {
  return std::string(founding_prefix) + std::string(of) + "." + std::to_string(random);
}
bool is_founding_draft(std::string_view name) { return name.starts_with(founding_prefix); }

}  // namespace holdfast::fencing
