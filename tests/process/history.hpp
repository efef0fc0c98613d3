#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/history.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::history {

/// Appends lines to one file; many processes may write to one, each with a writer of its own.
class writer {
 public:
  /// Creates the file with its header when it is not there.
  writer(const std::string& path, std::string caller);
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;
  ~writer();

  static std::int64_t now() { return clock::now().time_since_epoch().count(); }
  void write(const line& l) const;
  /// Says that an operation starts, for a caller that may not live to see it return.
  std::int64_t pending(operation what, const std::string& lock) const;
  void done(operation what, const std::string& lock, std::uint64_t token, std::int64_t invoked,
            const std::string& outcome) const;
  const std::string& caller() const { return caller_; }

 private:
  int fd_{-1};
  std::string caller_;
};

/// Reads a whole file, without the lines that were cut because their writer was killed; throws
/// std::runtime_error that names the first line that is wrong.
std::vector<line> read(const std::string& path);

/// What cannot have happened, a text for each lock; empty when all of it can. Undecided counts.
std::vector<std::string> violations(const std::vector<line>& all);

}  // namespace holdfast::history
