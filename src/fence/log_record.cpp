#include "fence/log_record.hpp"

#include <bit>
#include <cstring>

// In this file alone, as functions of its own: no library to link.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace holdfast::fencing {
namespace {

constexpr std::uint32_t length_mark = std::uint32_t{1} << 31;

/// splitmix64's finaliser (Steele, Lea, Flood, Fast splittable pseudorandom number generators).
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

std::uint64_t checksum(std::span<const std::byte> payload, const segment_id& in,
                       std::uint64_t number) noexcept {
  const std::uint64_t place =
      mixed(in.of.word + mixed(in.ordinal)) + mixed(number + 0x9E3779B97F4A7C15U);
  return mixed(XXH3_64bits(payload.data(), payload.size()) ^ (place + payload.size()));
}

template <class Number>
Number little(Number value) noexcept {
  static_assert(std::endian::native == std::endian::little, "swap the bytes here");
  return value;
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::size_t encode_record(std::span<std::byte> to, std::span<const std::byte> payload,
                          const segment_id& in, std::uint64_t number) noexcept {
  const std::uint64_t sum = little(checksum(payload, in, number));
  const std::uint32_t length = little(length_mark | static_cast<std::uint32_t>(payload.size()));
  std::memcpy(to.data(), &sum, sizeof sum);
  std::memcpy(to.data() + sizeof sum, &length, sizeof length);
  if (!payload.empty()) {
    std::memcpy(to.data() + record_head_bytes, payload.data(), payload.size());
  }
  return record_head_bytes + payload.size();
}

void encode_record(std::vector<std::byte>& out, std::span<const std::byte> payload,
                   const segment_id& in, std::uint64_t number) {
  const std::size_t at = out.size();
  out.resize(at + record_head_bytes + payload.size());
  (void)encode_record(std::span(out).subspan(at), payload, in, number);
}

record_there decode_record(std::span<const std::byte> at, const segment_id& in,
                           std::uint64_t number) {
  if (at.size() < record_head_bytes) return {};
  std::uint64_t sum = 0;
  std::uint32_t length = 0;
  std::memcpy(&sum, at.data(), sizeof sum);
  std::memcpy(&length, at.data() + sizeof sum, sizeof length);
  length = little(length);
  if ((length & length_mark) == 0) return {};
  const std::size_t size = length & ~length_mark;
  if (size > record_bytes_max) return {};
  record_there found{record_there::state::torn, record_head_bytes + size};
  if (at.size() < found.bytes) return found;
  const auto payload = at.subspan(record_head_bytes, size);
  if (checksum(payload, in, number) != little(sum)) return found;
  found.is = record_there::state::whole;
  found.payload = payload;
  return found;
}

}  // namespace holdfast::fencing
