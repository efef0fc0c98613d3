#pragma once

#include <holdfast/clock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::sim {

/// True time: what an omniscient observer reads, counted from the start of the run. No process of
/// the simulation sees it; each sees its host's clock.
using moment = duration;

/// Virtual time: tasks in the order of their moment, and of their scheduling where moments are
/// equal, so that a run depends on nothing but its seed.
///
/// Tasks live in reused slots: a run of millions of them allocates almost nothing.
///
/// Thread safety: none; one owner.
class schedule {
 public:
  schedule() = default;
  schedule(const schedule&) = delete;
  schedule& operator=(const schedule&) = delete;
  ~schedule();

  moment now() const noexcept { return now_; }
  std::uint64_t steps() const noexcept { return steps_; }
  /// Tasks that did not run yet.
  std::size_t waiting() const noexcept { return heap_.size(); }

  /// Runs `task` at `when`, or now if that has passed.
  template <class F>
  void at(moment when, F&& task);

  /// Runs the next task; false when there is none before `end`, and then it is `end`.
  bool step(moment end);

 private:
  static constexpr std::size_t room_size = 160;
  static constexpr std::size_t chunk_size = 128;
  struct slot {
    alignas(std::max_align_t) std::array<std::byte, room_size> room;
    void (*run)(void*) = nullptr;
    void (*destroy)(void*) = nullptr;
  };
  struct key {
    moment when;
    std::uint64_t order;
    std::uint32_t slot;
    bool operator>(const key& o) const noexcept {
      return when != o.when ? when > o.when : order > o.order;
    }
  };

  slot& at_index(std::uint32_t i) { return (*chunks_[i / chunk_size])[i % chunk_size]; }
  std::uint32_t take_slot();
  void push(key k);

  moment now_{};
  std::uint64_t steps_{};
  std::uint64_t order_{};
  std::vector<key> heap_;
  std::vector<std::unique_ptr<std::array<slot, chunk_size>>> chunks_;
  std::vector<std::uint32_t> free_;
};

template <class F>
void schedule::at(moment when, F&& task) {
  using stored = std::decay_t<F>;
  static_assert(sizeof(stored) <= room_size, "give the task less to carry");
  const std::uint32_t i = take_slot();
  slot& s = at_index(i);
  ::new (s.room.data()) stored(std::forward<F>(task));
  s.run = [](void* p) { (*static_cast<stored*>(p))(); };
  s.destroy = [](void* p) { static_cast<stored*>(p)->~stored(); };
  push({when < now_ ? now_ : when, order_++, i});
}

}  // namespace holdfast::sim
