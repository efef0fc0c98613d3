#include "cli/borrowed_words.hpp"

#include <algorithm>
#include <array>

namespace holdfast::cli {

namespace {

struct verb_elsewhere {
  std::string_view words;  ///< With blanks between them.
  std::string_view said;
};

constexpr std::array verbs_elsewhere{
    verb_elsewhere{"hold lock acquire exec flock wrap trylock try-lock",
                   " (did you mean \"run NAME -- COMMAND\"?)"},
    verb_elsewhere{"campaign lead", " (did you mean \"elect NAME --value TEXT -- COMMAND\"?)"},
    verb_elsewhere{"observe", " (did you mean \"leader NAME --watch\"?)"},
    verb_elsewhere{"list locks get ps top", " (did you mean \"ls\"?)"},
    verb_elsewhere{"sessions session who members", " (did you mean \"ls --sessions\"?)"},
    verb_elsewhere{"status stat describe inspect info",
                   " (did you mean \"show NAME\"? \"ls\" lists all locks, \"doctor\" is about the "
                   "store)"},
    verb_elsewhere{"monitor follow tail events", " (did you mean \"watch\"?)"},
    verb_elsewhere{"unlock release",
                   "; a lock ends with the command of its run, and \"deny NAME\" ends that"},
    verb_elsewhere{"kill delete del rm remove revoke evict steal force-leave",
                   " (did you mean \"deny NAME\", or \"break NAME\" of a holder that is dead?)"},
    verb_elsewhere{"renew extend refresh keepalive keep-alive", "; run keeps its lock by itself"},
    verb_elsewhere{"health ping diagnose config", " (did you mean \"doctor\"?)"},
    verb_elsewhere{"init", " (did you mean \"redlock init\"?)"},
    verb_elsewhere{"recover", " (did you mean \"redlock recover\"?)"},
};

struct option_elsewhere {
  std::string_view words;
  std::string_view ours;  ///< What a verb has to have, for the advice to fit; empty: any verb.
  std::string_view said;  ///< Empty: `ours` is what was meant.
};

// The first one that fits is said.
constexpr std::array options_elsewhere{
    // Only what runs a command has a grace.
    option_elsewhere{"--timeout", "--grace",
                     " (did you mean \"--wait\"? The time of the command itself is limited by "
                     "-- timeout DURATION COMMAND)"},
    option_elsewhere{"--timeout --max-wait --wait-timeout --lock-timeout --acquire-timeout",
                     "--wait", ""},
    option_elsewhere{"--nb --nonblock --non-block --nonblocking --non-blocking --try --try-lock",
                     "--no-wait", ""},
    option_elsewhere{"-x -e --exclusive", "--shared", "; it is exclusive without --shared"},
    option_elsewhere{"--read --reader", "--shared", ""},
    option_elsewhere{"--limit --max --slots --count --concurrency --semaphore", "--permits", ""},
    option_elsewhere{"--lease --lease-ttl --lease-duration --expire --expires --expiry", "--ttl",
                     ""},
    option_elsewhere{"--kill-after --grace-period", "--grace", ""},
    option_elsewhere{"--endpoints --endpoint --http-addr --server --servers --url --host --hosts "
                     "--address --addr --backend",
                     "--store", ""},
    option_elsewhere{"-c --command", "--grace",
                     "; the command stands behind --, as in -- sh -c 'COMMAND'"},
    option_elsewhere{"-q --quiet --silent", "--grace", "; it is silent without --verbose"},
    option_elsewhere{"--debug", "--verbose", ""},
    option_elsewhere{"--listen", "--value", "; \"leader NAME --watch\" shows who leads"},
    option_elsewhere{"--follow", "--watch", ""},
    option_elsewhere{"--watch --follow", "--sessions", "; \"watch\" prints every change"},
    option_elsewhere{"--force", "--raise-fence", "; it needs none: deny ends what lives, too"},
    option_elsewhere{"--force", "--session", "; \"deny\" ends a session that is not dead"},
    option_elsewhere{"--reason --message", "--why", ""},
    option_elsewhere{"--reason --message", "--label", ""},
    option_elsewhere{"--id", "--session", ""},
    option_elsewhere{"--id", "--instance", ""},
    option_elsewhere{"--name --key --lock", "NAME", "; NAME is given without an option"},
    option_elsewhere{"--output --format", "--json", ""},
    option_elsewhere{"--config", "", "; HOLDFAST_CONFIG names the file"},
};

bool has(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = words.substr(0, words.find(' '));
    if (first == word) return true;
    words.remove_prefix(std::min(words.size(), first.size() + 1));
  }
  return false;
}

}  // namespace

std::string borrowed_verb(std::string_view typed) {
  for (const verb_elsewhere& v : verbs_elsewhere) {
    if (has(v.words, typed)) return std::string(v.said);
  }
  return {};
}

std::string borrowed_option(std::string_view typed, const std::vector<std::string>& known) {
  for (const option_elsewhere& o : options_elsewhere) {
    if (!has(o.words, typed)) continue;
    if (!o.ours.empty() && std::ranges::find(known, o.ours) == known.end()) continue;
    if (!o.said.empty()) return std::string(o.said);
    return " (did you mean \"" + std::string(o.ours) + "\"?)";
  }
  return {};
}

}  // namespace holdfast::cli
