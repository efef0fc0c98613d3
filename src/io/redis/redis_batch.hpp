#pragma once

#include "io/redis/redis_requests.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::io {

/// Commands that have no place in the stream yet: they get theirs together, for one locking of the
/// stream's mutex instead of one each.
///
/// Thread safety: waits() from any thread, the rest one at a time.
class redis_batch {
 public:
  bool empty() const noexcept { return requests_.empty(); }
  /// The same for who looks on: false as soon as what was added before has its place.
  bool waits() const noexcept { return waits_.load(std::memory_order_acquire); }
  /// Their bytes, one after the other.
  const std::string& text() const noexcept { return text_; }
  std::size_t size() const noexcept { return text_.size(); }

  void add(redis_request&& r, std::string_view bytes) {
    r.place = text_.size();
    requests_.push_back(std::move(r));
    text_ += bytes;
    waits_.store(true, std::memory_order_release);
  }

  /// Moves all to `to`, the first one at `place`.
  void take(redis_requests& to, std::uint64_t place) {
    for (auto& r : requests_) {
      r.place += place;
      to.add(std::move(r));
    }
    requests_.clear();
    text_.clear();
    waits_.store(false, std::memory_order_release);
  }

 private:
  std::vector<redis_request> requests_;  ///< Their places are those in the text.
  std::string text_;
  std::atomic<bool> waits_{false};
};

}  // namespace holdfast::io
