#include "engines/local/floor.hpp"

#include "engines/local/bytes.hpp"

#include <holdfast/token.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace holdfast::engines::local {
namespace {

constexpr const char* file_name = "floor";
constexpr std::string_view magic = "HFFLOOR1";
// A page apart: no disk that is in use tears two of its sectors in one write of one of them.
constexpr std::uint64_t slot_distance = 4096;
constexpr std::size_t slot_size = 8 + 8 + 8 + 4;

// CRC-32 (IEEE 802.3), bit by bit: it runs once per million tokens.
std::uint32_t crc32(bytes data) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte b : data) {
    crc ^= static_cast<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

struct slot {
  std::uint64_t number{};
  std::uint64_t ceiling{};
  bool valid{};
};

std::vector<std::byte> encode(const slot& s) {
  std::vector<std::byte> out;
  writer w(out);
  w.raw(bytes_of(magic));
  w.number(s.number);
  w.number(s.ceiling);
  w.number(crc32(out));
  return out;
}

slot decode(bytes data) {
  reader r(data);
  const bytes name = r.raw(magic.size());
  slot s;
  s.number = r.number<std::uint64_t>();
  s.ceiling = r.number<std::uint64_t>();
  const auto sum = r.number<std::uint32_t>();
  s.valid = r.good() && text_of(name) == magic && s.ceiling <= token_max.value &&
            sum == crc32(data.first(slot_size - sizeof sum));
  return s;
}

}  // namespace

struct token_floor::slots {
  std::array<slot, 2> both;

  // A slot that cannot be read is the one to write next.
  std::size_t newest() const {
    if (both[0].valid != both[1].valid) return both[0].valid ? 0 : 1;
    return both[0].number >= both[1].number ? 0 : 1;
  }
  // The one that has to stay: what is above `synced` may never have reached the disk, because its
  // writer was killed or the sync failed, and only this process's kernel believes in it.
  std::size_t lasting(std::uint64_t synced) const {
    const std::size_t last = newest();
    const slot& other = both[1 - last];
    const bool is_older = both[last].ceiling > synced && other.valid && other.ceiling == synced;
    return is_older ? 1 - last : last;
  }
  std::uint64_t ceiling() const {
    std::uint64_t highest = 0;
    for (const slot& s : both) {
      if (s.valid) highest = std::max(highest, s.ceiling);
    }
    return highest;
  }
};

result<token_floor> token_floor::open(const io::place& where, mode_t mode) {
  auto file = io::open_or_create_in_place(where, file_name, mode);
  if (!file) return file.error();
  const std::string path = where.at(file_name);
  if (auto room = io::reserve(file->get(), 2 * slot_distance, path); !room) return room.error();
  return token_floor(std::move(*file), path);
}

result<token_floor::slots> token_floor::read() const {
  slots all;
  for (std::size_t i = 0; i < all.both.size(); ++i) {
    std::array<std::byte, slot_size> data{};
    auto size = io::read_at(file_.get(), data, i * slot_distance, path_);
    if (!size) return size.error();
    all.both[i] = decode(bytes(data).first(*size));
  }
  return all;
}

result<std::uint64_t> token_floor::ceiling() const {
  auto now = read();
  if (!now) return now.error();
  return now->ceiling();
}

result<std::uint64_t> token_floor::synced_ceiling() const {
  if (auto done = io::sync_data(file_.get(), path_); !done) return done.error();
  return ceiling();
}

result<std::uint64_t> token_floor::raise(std::uint64_t needed, std::uint64_t synced) {
  auto now = read();
  if (!now) return now.error();
  const std::size_t kept = now->lasting(synced);
  const std::uint64_t from = std::max(needed, now->ceiling());
  const std::uint64_t to = std::min(from + block, token_max.value);
  if (to < needed || to == from) {
    return error(errc::unavailable, "the tokens of " + path_ + " are used up");
  }
  const slot next{now->both[now->newest()].number + 1, to, true};
  if (auto done = io::write_at(file_.get(), encode(next), (1 - kept) * slot_distance, path_);
      !done) {
    return done.error();
  }
  if (auto done = io::sync_data(file_.get(), path_); !done) return done.error();
  return to;
}

}  // namespace holdfast::engines::local
