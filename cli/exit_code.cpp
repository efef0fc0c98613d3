#include "cli/exit_code.hpp"

namespace holdfast::cli {

exit_code exit_for(errc code) noexcept {
  switch (code) {
    case errc::busy:
    case errc::timed_out:
    case errc::cancelled:
    case errc::expiring:
      return exit_code::not_obtained;
    case errc::lost:
    case errc::denied:
      return exit_code::lost;
    case errc::stale_token:
      return exit_code::stale;
    case errc::invalid_argument:
    case errc::mode_conflict:
    case errc::would_block:
      return exit_code::usage;
    case errc::damaged:
      return exit_code::damaged;
    case errc::not_initialised:
      return exit_code::configuration;
    case errc::unavailable:
    case errc::outcome_unknown:
    case errc::unsupported:
      return exit_code::unavailable;
  }
  return exit_code::unavailable;
}

std::string exit_code_table() {
  return "Exit codes:\n"
         "  the command's own, 128+n  it ran to its end under the lock; n is the signal that ended "
         "it\n"
         "  128+n                     signal n ended the wait; nothing is held\n"
         "  1, 2 verify: not linearizable; undecided\n"
         "  64   wrong arguments: verb, option, name, ttl, store URL; no such session or holder;\n"
         "       check: not under run; verify: the file cannot be read\n"
         "  65   damaged data in the store or in a floor file; verify: in the history\n"
         "  69   the store did not answer, is not there, or cannot do what was asked;\n"
         "       leader: none is seen, and locks may be hidden; doctor: it found another fault\n"
         "  75   not obtained: another session holds it (run -E N changes the number);\n"
         "       break: refused; check: valid, but less than --for is left;\n"
         "       fence, run --fenced, deny --raise-fence: older writes are still under way;\n"
         "       redlock recover: a majority votes, or sessions have a longer ttl;\n"
         "       leader: nobody leads\n"
         "  76   the lease was lost and the command was stopped, whatever its own code; or\n"
         "       an operator denied it while it waited\n"
         "  77   fence check, run --fenced: the token is stale, its holder was replaced\n"
         "  78   configuration file: unreadable, or a value in it is wrong; or a\n"
         "       redlock:// store that was never set up (holdfast redlock init)\n"
         "  126  the command exists and cannot be run\n"
         "  127  the command was not found\n";
}

}  // namespace holdfast::cli
