#include "cli/memory_shortage.hpp"

#include "cli/exit_code.hpp"
#include "cli/report.hpp"

#include <unistd.h>

#include <exception>
#include <new>
#include <string>

namespace holdfast::cli {

namespace {

const std::string text =
    "there is not enough memory, so the program had to end; see the limits of its address space "
    "(ulimit -v) and of its control group (memory.max)";

/// As report::fail() writes it, made while there is memory.
std::string line;
std::terminate_handler otherwise = nullptr;

void terminated() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    end_short_of_memory();
  } catch (...) {
  }
  otherwise();
}

}  // namespace

void end_when_memory_is_short(bool json) {
  const std::string exit = std::to_string(to_int(exit_code::unavailable));
  line = json ? R"({"version":1,"error":{"code":"unavailable","exit":)" + exit + R"(,"message":")" +
                    text + "\"}}\n"
              : "holdfast: " + text + " [unavailable]\n";
  otherwise = std::set_terminate(terminated);
}

void end_short_of_memory() noexcept {
  // Where nobody reads it, what a run holds would be renewed meanwhile, for ever.
  if (takes_a_line() && ::write(STDERR_FILENO, line.data(), line.size()) < 0) {
    // There is nobody else to tell.
  }
  ::_exit(to_int(exit_code::unavailable));
}

}  // namespace holdfast::cli
