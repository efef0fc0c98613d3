#pragma once

#include "tests/temporary_directory.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::interop_tests {

/// A time during which somebody held the lock and believed so: from after it was granted to before
/// its release was asked for, and no longer than its validity. In nanoseconds of CLOCK_MONOTONIC,
/// which all processes of a machine share.
struct section {
  std::string who;  ///< "client-process".
  std::int64_t begin{};
  std::int64_t end{};
};

std::int64_t monotonic_now();

/// The witness: a file to which every holder appends its sections, whatever it is written in, one
/// line "who begin end" each. It takes no part in the locking, so what it shows does not depend on
/// any client's idea of exclusion.
///
/// Thread safety: every function, from any thread; other processes append meanwhile.
class section_log {
 public:
  section_log();
  section_log(const section_log&) = delete;
  section_log& operator=(const section_log&) = delete;
  ~section_log();

  const std::string& path() const { return path_; }
  void add(const section& s);
  /// All of them by their beginning. Throws std::runtime_error for a line that is none.
  std::vector<section> read() const;

 private:
  tests::temporary_directory directory_;
  std::string path_;
  int fd_{};
};

/// Each pair that held at the same time, as a sentence. `by_begin` is what read() gives.
std::vector<std::string> overlaps(const std::vector<section>& by_begin);
/// How many sections there are of the client that is called so.
std::size_t count_of(const std::string& client, const std::vector<section>& all);
/// How often the lock went from the client that is called so to another or came back.
std::size_t handovers(const std::string& client, const std::vector<section>& by_begin);

}  // namespace holdfast::interop_tests
