#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lock_name.hpp>
#include <holdfast/token.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::history {

/// One line of a history: docs/history-format.md.
struct line {
  std::string operation;
  std::string caller;
  std::string lock;         ///< Empty: the operation is not about one lock.
  std::uint64_t token{};    ///< Zero: none.
  std::int64_t invoked{};   ///< CLOCK_BOOTTIME, nanoseconds.
  std::int64_t returned{};  ///< Zero: it never did.
  std::string outcome;
};

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
  std::int64_t pending(const std::string& operation, const std::string& lock) const;
  void done(const std::string& operation, const std::string& lock, std::uint64_t token,
            std::int64_t invoked, const std::string& outcome) const;
  const std::string& caller() const { return caller_; }

 private:
  int fd_{-1};
  std::string caller_;
};

/// Reads a whole file; throws std::runtime_error that names the first line that is wrong.
std::vector<line> read(const std::string& path);

/// What exclusive locking forbids and the history shows; empty when it shows nothing.
///
/// - a token was given twice for one lock;
/// - an acquire that began after another one's return got a smaller token;
/// - a holder began a check that answered ok, or a write that succeeded, after an acquire with a
///   larger token had returned.
std::vector<std::string> violations(const std::vector<line>& all);

}  // namespace holdfast::history
