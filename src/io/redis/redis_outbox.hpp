#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::io {

/// The bytes of what one thread sends in one turn, whose place in the stream is known before they
/// are there: for one locking of the stream's mutex at the begin and one at the end, instead of one
/// for each command. Meanwhile nobody else may append to the stream.
///
/// Thread safety: waits() from any thread, the rest one at a time.
class redis_outbox {
 public:
  bool empty() const noexcept { return text_.empty(); }
  /// The same for who looks on: false as soon as all of it is in the stream.
  bool waits() const noexcept { return waits_.load(std::memory_order_acquire); }
  std::size_t size() const noexcept { return text_.size(); }
  /// Where it begins in the stream; only while it is not empty.
  std::uint64_t begins_at() const noexcept { return begins_at_; }

  /// The first bytes are going to be at this place of the stream. Only while it is empty.
  void begin(std::uint64_t place) {
    begins_at_ = place;
    waits_.store(true, std::memory_order_release);
  }
  /// After begin(). The place of the first byte.
  std::uint64_t add(std::string_view bytes) {
    const std::uint64_t place = begins_at_ + text_.size();
    text_ += bytes;
    return place;
  }
  /// The buffer with all of it, which somebody empties at once.
  std::string& take() noexcept {
    waits_.store(false, std::memory_order_release);
    return text_;
  }

 private:
  std::string text_;
  std::uint64_t begins_at_{};
  std::atomic<bool> waits_{false};
};

}  // namespace holdfast::io
