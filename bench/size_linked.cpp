// The same with holdfast and all engines of this build; with a URL it holds a lock, too.

#include "bench/own_size.hpp"

#include <holdfast/session.hpp>

int main(int argc, char** argv) {
  if (argc < 2) {
    holdfast::bench::print_own_size();
    return 0;
  }
  auto s = holdfast::open(argv[1]);
  if (!s) return 1;
  auto l = s->try_acquire(holdfast::lock_name("size"));
  if (!l) return 1;
  holdfast::bench::print_own_size();
  return 0;
}
