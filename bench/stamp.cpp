#include "tests/process/page.hpp"

#include <ctime>

/// Writes the moment it started into the page, then waits until it is to end.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t);
  const holdfast::process::shared_page page(argv[1]);
  page->first_write = std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  while (page->stop == 0) {
    const timespec nap{0, 1'000'000};
    ::nanosleep(&nap, nullptr);
  }
  return 0;
}
