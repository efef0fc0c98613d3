#include "cli/standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <initializer_list>

namespace holdfast::cli {

void reserve_standard_descriptors() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // open(2) gives the lowest free number. O_PATH: a descriptor that nothing can be read from or
    // written to; the root directory is always there.
    if (::open("/", O_PATH | O_CLOEXEC) < 0) return;
  }
}

}  // namespace holdfast::cli
