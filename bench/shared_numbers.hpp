#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace holdfast::bench {

/// Numbers that a process and its forked children share.
class shared_numbers {
 public:
  static constexpr std::size_t count = 512;

  shared_numbers() {
    void* at = ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>) * count, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap");
    at_ = static_cast<std::atomic<std::uint64_t>*>(at);
  }
  shared_numbers(const shared_numbers&) = delete;
  shared_numbers& operator=(const shared_numbers&) = delete;
  ~shared_numbers() { ::munmap(at_, sizeof(std::atomic<std::uint64_t>) * count); }

  std::atomic<std::uint64_t>& operator[](std::size_t i) const { return at_[i]; }

 private:
  std::atomic<std::uint64_t>* at_;
};

}  // namespace holdfast::bench
