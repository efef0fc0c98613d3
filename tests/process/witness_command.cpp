#include "tests/process/page.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// The command that `holdfast run` runs in the process tests: writes to the page until it is told
/// to stop, or is stopped. It never asks whether it holds the lock: that is the wrapper's business.
int main(int argc, char** argv) {
  const char* token_text = std::getenv("HOLDFAST_TOKEN");
  if (argc != 2 || token_text == nullptr) {
    std::fprintf(stderr, "usage: HOLDFAST_TOKEN=n %s PAGE\n", argv[0]);
    return 2;
  }
  using namespace holdfast::process;
  const shared_page page(argv[1]);
  const std::uint64_t token = std::strtoull(token_text, nullptr, 10);
  if (!enter(*page, token, 0, no_excuse)) return 3;
  while (page->stop == 0) {
    if (!write(*page, token, 0, no_excuse)) return 3;
  }
  return 0;
}
