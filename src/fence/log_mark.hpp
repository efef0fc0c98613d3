#pragma once

#include "fence/log_record.hpp"
#include "io/file/folder.hpp"

#include <holdfast/error.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace holdfast::fencing {

/// A place between two records of a segment.
struct segment_place {
  std::uint64_t bytes{};
  std::uint64_t records{};
  friend bool operator==(const segment_place&, const segment_place&) = default;
};

/// How far the writer of a segment has come, in a small mapped file beside it: what it says holds
/// for the boot in which it was written, and is nothing after another one. It is synced once, when
/// it is new, so that a power loss leaves a mark of another boot and not none.
///
/// - acknowledged: up to here the writer saw its own epoch after the write. So whoever raises the
///   epoch finds at least this, and never has to read it again to know that it is whole.
/// - synced: up to here it is on the disk.
/// - failed: a sync failed. The kernel may show bytes that it will never write again, so they are
///   copied, not synced once more (P. Rebello et al., Can applications recover from fsync failures,
///   USENIX ATC 2020).
///
/// Thread safety: one writer, any number of readers in any process.
class log_mark {
 public:
  /// Says whether the file is there and of which boot; none, too, where one of the two is unknown.
  enum class age : std::uint8_t { this_boot, earlier_boot, none };

  static result<log_mark> create(io::folder& files, const segment_id& of, std::uint64_t boot);
  /// What is there; `age::none` also when it cannot be opened.
  static log_mark find(io::folder& files, const segment_id& of, std::uint64_t boot,
                       io::opening how);

  age how_old() const noexcept { return age_; }
  segment_place acknowledged() const noexcept { return read(1); }
  segment_place synced() const noexcept { return read(2); }
  /// In doubt which boot that was, it failed in this one: a copy is never wrong.
  bool failed() const noexcept {
    return data_ != nullptr && age_ != age::earlier_boot && at(3).load() != 0;
  }

  void set_acknowledged(const segment_place& p) const noexcept {
    at(1).store(pack(p), std::memory_order_release);
  }
  void set_synced(const segment_place& p) const noexcept {
    at(2).store(pack(p), std::memory_order_release);
  }
  void set_failed() const noexcept;
  io::answer sync() const noexcept { return file_->sync(); }

 private:
  static constexpr std::size_t page = 4096;
  // Both in one word, so that they always belong together: 2^34 bytes and 2^30 records, of which a
  // segment has far fewer (segment_bytes_max and a record of the longest).
  static constexpr unsigned record_bits = 30;
  static std::uint64_t pack(const segment_place& p) noexcept {
    return (p.bytes << record_bits) | p.records;
  }
  segment_place read(std::size_t word) const noexcept {
    if (age_ != age::this_boot) return {};
    const std::uint64_t both = at(word).load();
    return {both >> record_bits, both & ((std::uint64_t{1} << record_bits) - 1)};
  }
  std::atomic<std::uint64_t>& at(std::size_t word) const noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(data_)[word];
  }

  std::unique_ptr<io::folder_file> file_;
  std::byte* data_{};
  age age_{age::none};
};

}  // namespace holdfast::fencing
