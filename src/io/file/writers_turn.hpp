#pragma once

#include "io/file/file_lock.hpp"
#include "io/file/files.hpp"
#include "io/file/unique_fd.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <string>
#include <utility>

namespace holdfast::io {

/// The turn of one process at a time that reads a file and replaces it, or what another wrote in
/// between would be lost. The lock is on a file of its own, `<name>.lock`: the other one is another
/// file after each writing.
class writers_turn {
 public:
  /// Errors: `unavailable`: who has it has not ended within `limit`, or the lock cannot be used.
  static result<writers_turn> take(const place& where, const std::string& name, duration limit);

 private:
  explicit writers_turn(unique_fd file) : file_(std::move(file)), held_(file_.get(), 0) {}

  unique_fd file_;
  locked_byte held_;  // Given back before the file is closed.
};

}  // namespace holdfast::io
