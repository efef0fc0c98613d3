#include "cli/exit_code.hpp"
#include "cli/near_match.hpp"
#include "cli/report.hpp"
#include "cli/standard_descriptors.hpp"
#include "cli/verbs.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace holdfast::cli {

const std::array<verb, 9>& all_verbs() noexcept {
  static constexpr std::array<verb, 9> verbs{{
      {"run", verb_run, "hold a lock and run a command under it"},
      {"ls", verb_ls, "what is held, by whom, and who waits"},
      {"show", verb_show, "everything about one lock or one session"},
      {"watch", verb_watch, "what is held, and every change from now on"},
      {"check", verb_check, "inside `run`: is the lease still good for --for DURATION?"},
      {"deny", verb_deny, "refuse a session's heartbeats; its locks fall when its ttl has passed"},
      {"break", verb_break, "remove a session that is provably dead on this host"},
      {"doctor", verb_doctor, "settings and where they come from, and the health of the store"},
      {"version", verb_version, "the version"},
  }};
  return verbs;
}

namespace {

std::string overview() {
  std::string text =
      "holdfast: hold a lock while a command runs\n\n"
      "Usage: holdfast VERB [options]\n"
      "       holdfast run NAME [options] -- COMMAND [ARGUMENT...]\n\nVerbs:\n";
  for (const verb& v : all_verbs()) {
    std::string name = v.name;
    name.resize(10, ' ');
    text += "  " + name + v.summary + "\n";
  }
  return text + "\n" + exit_code_table() +
         "\n`holdfast VERB --help` tells more; see holdfast(1).\n";
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) return report().fail(exit_code::usage, "no verb; see holdfast --help");
  const std::string& first = words.front();
  if (first == "--help" || first == "-h" || first == "help") return print(overview());
  if (first == "--version" || first == "-V") return verb_version({});
  std::vector<std::string> names;
  for (const verb& v : all_verbs()) {
    if (first == v.name) return v.run({words.begin() + 1, words.end()});
    names.emplace_back(v.name);
  }
  return report().fail(exit_code::usage, "unknown verb \"" + harmless(first) + "\"" +
                                             hint(first, names) + "; see holdfast --help");
}

}  // namespace
}  // namespace holdfast::cli

int main(int count, char** values) {
  using namespace holdfast::cli;
  reserve_standard_descriptors();
  try {
    return dispatch({values + 1, values + count});
  } catch (const std::exception& e) {
    return report().fail(exit_code::unavailable, std::string("unexpected: ") + e.what());
  }
}
