#pragma once

#include "fence/floor_keeper.hpp"
#include "io/file/unique_fd.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>

namespace holdfast::fencing {

/// How the processes that share a floor file keep out of each other's way: locks on single bytes of
/// it, far behind its data, which the kernel frees when a process ends.
///
/// | byte             | held together by                  | held alone by                        |
/// |------------------|-----------------------------------|--------------------------------------|
/// | `first`          | -                                 | whoever reads or changes the records |
/// | `first` + 1 + 2i | processes with exclusive passes   | an arrival, for a moment: there are  |
/// |                  | of resource i                     | none of other processes              |
/// | `first` + 2 + 2i | those with shared passes of it    | likewise                             |
///
/// Thread safety: none, and one object for each fence: two of them exclude each other like two
/// processes. All calls of one object are about one resource.
class floor_locks {
 public:
  static constexpr std::int64_t first = std::int64_t{1} << 60;

  floor_locks() = default;
  floor_locks(io::unique_fd file, std::string path) noexcept
      : file_(std::move(file)), path_(std::move(path)) {}

  /// Errors: `unavailable` when somebody else has it for the whole of `limit`.
  result<void> lock_records(duration limit);
  void unlock_records() noexcept;

  /// See floor_keeper.
  result<bool> others_ended(std::uint64_t resource, sharing arriving, floor_keeper::kinds keep);
  void ended(std::uint64_t resource, sharing how) noexcept;

 private:
  result<bool> alone(std::int64_t byte) const;
  void settle(std::int64_t byte, bool& held, bool keep) const noexcept;

  bool holds_exclusive_{};
  bool holds_shared_{};
  io::unique_fd file_;  ///< None: there are no other processes.
  std::string path_;
};

}  // namespace holdfast::fencing
