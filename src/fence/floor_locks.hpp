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
/// | settled(i, t)    | processes that know that no pass  | -                                    |
/// |                  | of i is, or will be, older than t |                                      |
///
/// Without the last one a process could not tell an older pass from one of its own token. Only the
/// first `settled_resources` resources have room for it: an arrival at another one waits for both.
///
/// Thread safety: none, and one object for each fence: two of them exclude each other like two
/// processes. All calls of one object are about one resource.
class floor_locks {
 public:
  static constexpr std::int64_t first = std::int64_t{1} << 60;
  static constexpr std::uint64_t settled_resources = 512;

  floor_locks() = default;
  floor_locks(io::unique_fd file, std::string path) noexcept
      : file_(std::move(file)), path_(std::move(path)) {}

  /// Errors: `unavailable` when somebody else has it for the whole of `limit`.
  result<void> lock_records(duration limit);
  void unlock_records() noexcept;

  /// See floor_keeper.
  result<bool> others_ended(std::uint64_t resource, token t, sharing how, floor_keeper::kinds keep);
  void settled(std::uint64_t resource, token t) noexcept;
  void ended(std::uint64_t resource, sharing how) noexcept;

 private:
  /// False: another process holds it, in whichever way.
  result<bool> alone(std::int64_t byte) const;
  /// Without knowing of which tokens the others' passes are. False leaves held what was held
  /// before.
  result<bool> none_of_both(std::uint64_t resource, sharing how, floor_keeper::kinds keep);
  void settle(std::int64_t byte, bool& held, bool keep) const noexcept;

  bool holds_exclusive_{};
  bool holds_shared_{};
  token settled_;       ///< Its byte is locked; zero: none is.
  io::unique_fd file_;  ///< None: there are no other processes.
  std::string path_;
};

}  // namespace holdfast::fencing
