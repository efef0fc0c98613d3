#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace holdfast::io {

/// Blocks of memory that were let go, kept for whoever asks for the same size next: the last one
/// first, for it is still in the processor's cache.
///
/// Thread safety: none; one owner.
class block_cache {
 public:
  static constexpr std::size_t grain = 32;
  static constexpr std::size_t largest = 1088;  ///< Bytes of a block that is worth keeping.
  static constexpr std::size_t kept_max = 4 * 1024 * 1024;  ///< Bytes.

  block_cache() = default;
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;
  /// Gives all of it back to the heap.
  ~block_cache();

  /// A block for so many bytes, or null when none is kept.
  void* take(std::size_t bytes) noexcept;
  /// False: not kept, it is still the caller's. The block has the bytes that size_of() says.
  bool keep(void* block, std::size_t bytes) noexcept;

  /// What a block for so many bytes is allocated with.
  static constexpr std::size_t size_of(std::size_t bytes) noexcept {
    return (bytes + grain - 1) / grain * grain;
  }
  std::size_t kept() const noexcept { return kept_; }

 private:
  struct block {
    block* next;
  };
  std::array<block*, largest / grain> free_{};
  std::size_t kept_{0};
};

/// Of the calling thread's block_cache or the heap, and back: a block may be taken by one thread
/// and let go by another. Builds that look for wrong uses of memory, and for races, always ask the
/// heap, which they watch.
///
/// Thread safety: both, from any thread.
void* take_block(std::size_t bytes);
void let_go_of_block(void* block, std::size_t bytes) noexcept;

/// An allocator for what is made and dropped with every lock: a thousand at a time are more than
/// the heap keeps at hand, and it takes an eighth of a Redlock client's time to look for them.
template <class T>
class recycling {
 public:
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  using value_type = T;

  recycling() = default;
  template <class Other>
  explicit(false) recycling(const recycling<Other>&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > block_cache::largest / sizeof(T)) return std::allocator<T>().allocate(count);
    return static_cast<T*>(take_block(count * sizeof(T)));
  }
  void deallocate(T* at, std::size_t count) noexcept {
    if (count > block_cache::largest / sizeof(T)) return std::allocator<T>().deallocate(at, count);
    let_go_of_block(at, count * sizeof(T));
  }

  friend bool operator==(const recycling&, const recycling&) noexcept { return true; }
};

/// std::make_shared, with that memory.
template <class T, class... Arguments>
std::shared_ptr<T> make_recycled(Arguments&&... arguments) {
  return std::allocate_shared<T>(recycling<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace holdfast::io
