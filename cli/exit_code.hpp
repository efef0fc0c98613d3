#pragma once

#include <holdfast/error.hpp>

#include <string>
#include <string_view>

namespace holdfast::cli {

/// How the program ends when it speaks for itself and not for its command.
///
/// The values are those of sysexits.h and of the shell (126, 127, 128+n), so that cron wrappers,
/// systemd's RestartPreventExitStatus and shell scripts can already tell them apart. A command may
/// use the same values: whoever must tell the two apart reads the message or uses --json.
enum class exit_code : int {
  ok = 0,
  violation = 1,  ///< As of cmp(1): what was looked at is not as it should be.
  undecided = 2,
  usage = 64,          ///< EX_USAGE
  damaged = 65,        ///< EX_DATAERR
  unavailable = 69,    ///< EX_UNAVAILABLE
  not_obtained = 75,   ///< EX_TEMPFAIL
  lost = 76,           ///< EX_PROTOCOL
  stale = 77,          ///< EX_NOPERM
  configuration = 78,  ///< EX_CONFIG
  not_executable = 126,
  not_found = 127,
};

/// How a shell reports death by a signal: 128 + signal.
inline constexpr int exit_of_signal(int signal) noexcept { return 128 + signal; }

inline constexpr int to_int(exit_code code) noexcept { return static_cast<int>(code); }

/// What an error of the library means to the caller of the program. `unsupported` is 69: the store
/// that was chosen cannot serve this, and another one can; the command line itself is not wrong.
exit_code exit_for(errc code) noexcept;

/// What programs read of a failure that has no error of the library.
const char* name_of_exit(exit_code code) noexcept;

/// The table that `--help` prints and docs/cli.md repeats: of one verb, or of all without one.
std::string exit_code_table(std::string_view verb = {});

}  // namespace holdfast::cli
