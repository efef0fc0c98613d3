#include "fence/floor_codec.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast::fencing {

namespace {

constexpr std::string_view magic = "HFFENCE1";
constexpr std::size_t head_bytes = 8 + 8 + 8 + 8 + 3 * 2;
constexpr std::size_t sum_bytes = 4;
static_assert(head_bytes + 2 * lock_name::bytes_max + store_identity::bytes_max + sum_bytes <=
              page_bytes);

constexpr auto crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    table[i] = crc;
  }
  return table;
}();

// CRC-32 (IEEE 802.3).
std::uint32_t crc32(page_view data) noexcept {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte b : data) {
    crc = (crc >> 8) ^ crc_table[(crc ^ static_cast<std::uint32_t>(b)) & 0xffU];
  }
  return ~crc;
}

class page_writer {
 public:
  explicit page_writer(page& to) noexcept : to_(to) {}
  void text(std::string_view s) noexcept {
    std::memcpy(to_.data() + at_, s.data(), s.size());
    at_ += s.size();
  }
  void number(std::uint64_t value, int bytes) noexcept {
    for (int i = 0; i < bytes; ++i) to_[at_++] = static_cast<std::byte>(value >> (8 * i));
  }
  std::size_t size() const noexcept { return at_; }

 private:
  page& to_;
  std::size_t at_{};
};

/// The sizes were checked before anything is read.
class page_reader {
 public:
  explicit page_reader(page_view from) noexcept : from_(from) {}
  std::string text(std::size_t size) {
    std::string s(size, '\0');
    std::memcpy(s.data(), from_.data() + at_, size);
    at_ += size;
    return s;
  }
  std::uint64_t number(int bytes) noexcept {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(from_[at_++]) << (8 * i);
    return value;
  }
  std::size_t at() const noexcept { return at_; }

 private:
  page_view from_;
  std::size_t at_{};
};

bool in_range(const stored_record& r) {
  const floors& f = r.kept.now;
  return f.newest <= token_max && f.floor <= f.newest && lock_name(r.resource).check() &&
         (!r.kept.from || r.kept.from->check());
}

}  // namespace

page encode(const stored_record& r, std::uint64_t number) {
  HOLDFAST_ASSERT(in_range(r));
  const std::string lock = r.kept.from ? r.kept.from->lock.str() : std::string();
  const std::string store = r.kept.from ? r.kept.from->store.str() : std::string();
  page data{};
  page_writer w(data);
  w.text(magic);
  w.number(number, 8);
  w.number(r.kept.now.floor.value, 8);
  w.number(r.kept.now.newest.value, 8);
  for (const auto* s : {&r.resource, &lock, &store}) w.number(s->size(), 2);
  for (const auto* s : {&r.resource, &lock, &store}) w.text(*s);
  w.number(crc32(page_view(data).first(w.size())), sum_bytes);
  return data;
}

std::optional<stored_record> decode(page_view data, std::uint64_t number) {
  if (data.size() != page_bytes) return std::nullopt;
  page_reader r(data);
  // With its place in the file, so that a page that was written to another one is no copy.
  if (r.text(magic.size()) != magic || r.number(8) != number) return std::nullopt;
  stored_record s;
  s.kept.now.floor.value = r.number(8);
  s.kept.now.newest.value = r.number(8);
  const auto resource = static_cast<std::size_t>(r.number(2));
  const auto lock = static_cast<std::size_t>(r.number(2));
  const auto store = static_cast<std::size_t>(r.number(2));
  if (head_bytes + resource + lock + store + sum_bytes > page_bytes) return std::nullopt;
  s.resource = r.text(resource);
  lock_name name(r.text(lock));
  store_identity id(r.text(store));
  if (lock + store != 0) s.kept.from = token_source{std::move(id), std::move(name)};
  const auto sum = crc32(data.first(r.at()));
  if (r.number(sum_bytes) != sum || !in_range(s)) return std::nullopt;
  return s;
}

bool is_blank(page_view data) noexcept {
  return std::ranges::all_of(data, [](std::byte b) { return b == std::byte{0}; });
}

copies read_copies(page_view first, page_view second, std::uint64_t number, bool last) {
  auto a = decode(first, number);
  auto b = decode(second, number + 1);
  using state = copies::state;
  // At the end of the file: its making was cut off, and no floor was ever answered from it.
  if (!a && !b) return {last && is_blank(second) ? state::blank : state::damaged};
  if (!a) return {state::one_torn, std::move(*b)};
  if (!b) return {state::one_torn, std::move(*a), true};
  if (*a == *b) return {state::equal, std::move(*a), true};
  const bool one_resource = a->resource == b->resource &&
                            (!a->kept.from || !b->kept.from || a->kept.from == b->kept.from);
  if (!one_resource) return {state::damaged};
  // Whoever wrote the first copy may have ended before the second. What either has refused stays
  // refused.
  a->kept.now = a->kept.now.merged(b->kept.now);
  if (!a->kept.from) a->kept.from = std::move(b->kept.from);
  return {state::one_ahead, std::move(*a), true};
}

}  // namespace holdfast::fencing
