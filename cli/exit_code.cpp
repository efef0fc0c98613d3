#include "cli/exit_code.hpp"

#include <algorithm>
#include <array>

namespace holdfast::cli {

namespace {

/// One meaning of a code: of these verbs, or of all where none is named.
struct meaning {
  std::string_view code;
  std::string_view text;
  std::string_view verbs{};
  std::string_view whose{};  ///< Stands before it in the table of all verbs.
};

constexpr std::array meanings{
    meaning{"the command's own, 128+n",
            "it ran to its end under the lock; n is the signal that ended it", "run elect"},
    meaning{"128+n", "signal n ended the wait; nothing is held", "run elect"},
    meaning{"1, 2", "not linearizable; undecided", "verify", "verify"},
    meaning{"64", "wrong arguments: verb, option, name, ttl, store URL; no such session or holder"},
    meaning{"64", "not under run", "check", "check"},
    meaning{"64", "the file cannot be read", "verify", "verify"},
    meaning{"65", "damaged data in the store or in a floor file"},
    meaning{"65", "in the history", "verify", "verify"},
    meaning{"69", "the store did not answer, is not there, or cannot do what was asked"},
    meaning{"69", "no leader is seen, and locks may be hidden", "leader", "leader"},
    meaning{"69", "it found another fault", "doctor", "doctor"},
    meaning{"75", "not obtained: another session holds it (run -E N changes the number)",
            "run elect"},
    meaning{"75", "refused", "break", "break"},
    meaning{"75", "valid, but less than --for is left", "check", "check"},
    meaning{"75", "older writes are still under way at its fence", "fence run deny",
            "fence, run --fenced, deny --raise-fence"},
    meaning{"75", "a majority votes, or sessions have a longer ttl", "redlock", "redlock recover"},
    meaning{"75", "nobody leads", "leader", "leader"},
    meaning{"76",
            "the lease was lost and the command was stopped, whatever its own code; or an operator "
            "denied it while it waited",
            "run elect"},
    meaning{"76", "the lease was lost", "check", "check"},
    meaning{"77", "the token is stale, for its fence has seen a newer one", "fence run",
            "fence check, run --fenced"},
    meaning{"78",
            "configuration file: unreadable, or a value in it is wrong; or a redlock:// store that "
            "was never set up (holdfast redlock init)"},
    meaning{"126", "the command exists and cannot be run", "run elect"},
    meaning{"127", "the command was not found", "run elect"}};

bool is_of(const meaning& m, std::string_view verb) {
  if (verb.empty() || m.verbs.empty()) return true;
  const std::string all = " " + std::string(m.verbs) + " ";
  return all.find(" " + std::string(verb) + " ") != std::string::npos;
}

/// The code, and the text beside it in lines of up to 92 characters.
void add_row(std::string& table, std::string_view code, std::string_view text) {
  constexpr std::size_t indent = 7;
  constexpr std::size_t line_max = 92;
  std::string line = "  " + std::string(code) + "  ";
  line.resize(std::max(line.size(), indent), ' ');
  while (line.size() + text.size() > line_max) {
    const std::size_t cut = text.rfind(' ', line_max - line.size());
    if (cut == std::string_view::npos) break;
    table.append(line).append(text.substr(0, cut)).append("\n");
    text.remove_prefix(cut + 1);
    line.assign(indent, ' ');
  }
  table.append(line).append(text).append("\n");
}

}  // namespace

const char* name_of_exit(exit_code code) noexcept {
  switch (code) {
    case exit_code::usage:
      return "invalid_argument";
    case exit_code::damaged:
      return "damaged";
    case exit_code::not_obtained:
      return "busy";
    case exit_code::lost:
      return "lost";
    case exit_code::configuration:
      return "configuration";
    case exit_code::not_executable:
      return "not_executable";
    case exit_code::not_found:
      return "not_found";
    default:
      return "unavailable";
  }
}

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

std::string exit_code_table(std::string_view verb) {
  std::string table = "Exit codes:\n";
  for (auto at = meanings.begin(); at != meanings.end();) {
    const std::string_view code = at->code;
    std::string text;
    for (; at != meanings.end() && at->code == code; ++at) {
      if (!is_of(*at, verb)) continue;
      if (!text.empty()) text += "; ";
      if (verb.empty() && !at->whose.empty()) text.append(at->whose).append(": ");
      text += at->text;
    }
    if (!text.empty()) add_row(table, code, text);
  }
  return table;
}

}  // namespace holdfast::cli
