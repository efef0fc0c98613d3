#include "tests/process/page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <stdexcept>

namespace holdfast::process {

namespace {

std::int64_t boottime() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

bool late(page& p, std::int64_t checked, std::int64_t patience) {
  ++(boottime() - checked > patience ? p.paused_writes : p.violations);
  return false;
}

}  // namespace

shared_page::shared_page(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(page)) != 0) throw std::runtime_error("page " + path);
  void* at = ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) throw std::runtime_error("mmap " + path);
  at_ = static_cast<page*>(at);
}

shared_page::~shared_page() { ::munmap(at_, sizeof(page)); }

bool enter(page& p, std::uint64_t token, std::int64_t checked, std::int64_t patience) {
  auto before = p.owner.load();
  do {
    if (before >= token) return late(p, checked, patience);
  } while (!p.owner.compare_exchange_weak(before, token));
  p.first_write = boottime();
  p.command = ::getpid();
  p.guardian = ::getppid();
  ++p.holders;
  return true;
}

bool write(page& p, std::uint64_t token, std::int64_t checked, std::int64_t patience) {
  auto expected = token;
  if (!p.owner.compare_exchange_strong(expected, token)) return late(p, checked, patience);
  p.last_write = boottime();
  ++p.writes;
  return true;
}

}  // namespace holdfast::process
