#include "io/process/process_mutex.hpp"

#include "io/thread/futex.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

namespace holdfast::io {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t contended_bit = 1;
constexpr unsigned owner_shift = 1;
constexpr unsigned epoch_shift = 17;
constexpr std::uint64_t owner_mask = 0xffff;

// A holder needs a few microseconds; sleeping and waking cost more than that. Longer spinning only
// takes the processor from the holder when there are more processes than processors.
constexpr int spins = 40;
constexpr duration first_slice = 2ms;
constexpr duration next_slice = 10ms;

constexpr std::uint64_t owner_field(std::uint64_t value) {
  return (value >> owner_shift) & owner_mask;
}
constexpr std::uint64_t epoch_field(std::uint64_t value) { return value >> epoch_shift; }
constexpr std::uint64_t make(std::uint64_t owner, std::uint64_t epoch) {
  return owner << owner_shift | epoch << epoch_shift;
}

// The half with the contended bit and the owner.
const std::uint32_t* low_half(const process_mutex::word& word) noexcept {
  const auto* halves = reinterpret_cast<const std::uint32_t*>(&word);
  return std::endian::native == std::endian::little ? halves : halves + 1;
}

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

process_mutex::process_mutex(word& shared, const process_slot& mine) noexcept
    : word_(shared), mine_(mine) {
  std::uint64_t seen = word_.load(std::memory_order_acquire);
  while (owner_field(seen) == mine_.number() + 1U) {
    if (word_.compare_exchange_weak(seen, make(0, epoch_field(seen) + 1))) {
      futex_wake(low_half(word_), INT32_MAX);
      return;
    }
  }
}

bool process_mutex::try_take(std::uint64_t flags) noexcept {
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  while (owner_field(seen) == 0) {
    const std::uint64_t ours = make(mine_.number() + 1U, epoch_field(seen)) | flags;
    if (word_.compare_exchange_weak(seen, ours, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool process_mutex::take_from_dead(std::uint64_t seen) noexcept {
  const std::uint64_t field = owner_field(seen);
  // By its slot alone: a pid may be another process's by now, or mean nothing in this namespace.
  if (field == 0 || mine_.look(static_cast<unsigned>(field - 1)).alive) return false;
  // Others may sleep on the word as it was: contended, so that our unlock wakes one.
  const std::uint64_t ours = make(mine_.number() + 1U, epoch_field(seen) + 1) | contended_bit;
  return word_.compare_exchange_strong(seen, ours, std::memory_order_acquire);
}

std::optional<process_mutex::owner> process_mutex::lock(duration limit) noexcept {
  for (int i = 0; i < spins; ++i) {
    if (try_take(0)) return {};
    relax();
  }
  const time_point end = clock::now() + limit;
  duration slice = first_slice;
  for (;;) {
    // Others may sleep too, so who has slept takes it as contended: its unlock wakes the next.
    if (try_take(contended_bit)) return {};
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    if (owner_field(seen) == 0) continue;
    if ((seen & contended_bit) == 0 && !word_.compare_exchange_strong(seen, seen | contended_bit)) {
      continue;
    }
    seen |= contended_bit;
    const duration left = end - clock::now();
    const woken how =
        futex_wait(low_half(word_), static_cast<std::uint32_t>(seen), std::min(slice, left));
    if (how == woken::timed_out) {
      if (take_from_dead(seen)) return {};
      slice = next_slice;
    }
    if (clock::now() >= end) {
      // It may have become free while we slept: the limit is for waiting, not for having.
      if (try_take(contended_bit)) return {};
      return owner_of(word_.load(std::memory_order_relaxed));
    }
  }
}

void process_mutex::unlock() noexcept {
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  while (!word_.compare_exchange_weak(seen, make(0, epoch_field(seen) + 1),
                                      std::memory_order_release, std::memory_order_relaxed)) {
  }
  // One is enough: it takes the word as contended, and wakes the next when it is done.
  if ((seen & contended_bit) != 0) futex_wake(low_half(word_), 1);
}

process_mutex::owner process_mutex::owner_of(std::uint64_t value) const noexcept {
  const std::uint64_t field = owner_field(value);
  if (field == 0) return {};
  const auto slot = static_cast<unsigned>(field - 1);
  return {slot, mine_.look(slot).pid};
}

std::optional<process_mutex::owner> process_mutex::holder() const noexcept {
  const std::uint64_t seen = word_.load(std::memory_order_relaxed);
  if (owner_field(seen) == 0) return {};
  return owner_of(seen);
}

std::uint64_t process_mutex::epoch() const noexcept {
  return epoch_field(word_.load(std::memory_order_relaxed));
}

}  // namespace holdfast::io
