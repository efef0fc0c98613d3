#include "io/process/fork_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace holdfast::io {
namespace {

using mark = std::atomic<std::uint64_t>;

// The page is mapped once and read for the life of the process. Plain atomics rather than a
// function-local static: a fork by another thread in the middle of a static's initialisation would
// leave its guard locked in the child for ever.
std::atomic<mark*> page{nullptr};
std::atomic<bool> no_page{false};
std::atomic<std::uint64_t> last{0};

// A kernel before 4.14 has no MADV_WIPEONFORK: a system call each time is the slow substitute. The
// top bit keeps such numbers apart from counted ones.
std::uint64_t generation_by_pid() noexcept {
  return (std::uint64_t{1} << 63) | static_cast<std::uint64_t>(::getpid());
}

mark* map_page() noexcept {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // Another thread may have been first, and had the memory.
  if (memory == MAP_FAILED) return page.load(std::memory_order_acquire);
  if (::madvise(memory, size, MADV_WIPEONFORK) != 0) {
    ::munmap(memory, size);
    return page.load(std::memory_order_acquire);
  }
  mark* fresh = new (memory) mark(0);
  mark* seen = nullptr;
  // One page is enough.
  if (page.compare_exchange_strong(seen, fresh)) return fresh;
  ::munmap(memory, size);
  return seen;
}

}  // namespace

std::uint64_t process_generation() noexcept {
  if (no_page.load(std::memory_order_relaxed)) return generation_by_pid();
  mark* here = page.load(std::memory_order_acquire);
  if (here == nullptr) here = map_page();
  if (here == nullptr) {
    no_page.store(true);
    return generation_by_pid();
  }
  std::uint64_t value = here->load(std::memory_order_acquire);
  if (value != 0) return value;
  // First call in this process: the counter was inherited, the page was not.
  const std::uint64_t mine = last.fetch_add(1) + 1;
  return here->compare_exchange_strong(value, mine) ? mine : value;
}

}  // namespace holdfast::io
