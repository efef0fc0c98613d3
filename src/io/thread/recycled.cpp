#include "io/thread/recycled.hpp"

#include "core/sanitizer.hpp"
#include "io/thread/prefetch.hpp"

#include <cstdint>

namespace holdfast::io {

namespace {

constexpr bool heap_only = HOLDFAST_UNDER_ASAN != 0 || HOLDFAST_UNDER_TSAN != 0;

// Plain, so that what is let go after the cache's end, by other destructors of the thread, finds
// out.
thread_local constinit block_cache* cache_here = nullptr;
thread_local constinit bool over = false;

struct owned_cache {
  owned_cache() noexcept { cache_here = &cache; }
  owned_cache(const owned_cache&) = delete;
  owned_cache& operator=(const owned_cache&) = delete;
  ~owned_cache() {
    cache_here = nullptr;
    over = true;
  }
  block_cache cache;
};

block_cache* make_own() noexcept {
  if (over || heap_only) return nullptr;
  thread_local owned_cache own;
  return cache_here;
}

block_cache* own() noexcept { return cache_here != nullptr ? cache_here : make_own(); }

}  // namespace

block_cache::~block_cache() {
  for (block* first : free_) {
    while (first != nullptr) ::operator delete(std::exchange(first, first->next));
  }
}

void* block_cache::take(std::size_t bytes) noexcept {
  block*& first = free_[size_of(bytes) / grain - 1];
  if (first == nullptr) return nullptr;
  kept_ -= size_of(bytes);
  block* const taken = std::exchange(first, first->next);
  // The one that is taken next, while this one is filled.
  if (first != nullptr) prefetch(reinterpret_cast<std::uintptr_t>(first), size_of(bytes));
  return taken;
}

bool block_cache::keep(void* at, std::size_t bytes) noexcept {
  if (kept_ + size_of(bytes) > kept_max) return false;
  block*& first = free_[size_of(bytes) / grain - 1];
  kept_ += size_of(bytes);
  first = new (at) block{first};
  return true;
}

void* take_block(std::size_t bytes) {
  block_cache* const cache = own();
  void* const kept = cache == nullptr ? nullptr : cache->take(bytes);
  return kept != nullptr ? kept : ::operator new(block_cache::size_of(bytes));
}

void let_go_of_block(void* block, std::size_t bytes) noexcept {
  block_cache* const cache = own();
  if (cache == nullptr || !cache->keep(block, bytes)) ::operator delete(block);
}

}  // namespace holdfast::io
