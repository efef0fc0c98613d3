#include "cli/borrowed_words.hpp"
#include "cli/command_line.hpp"
#include "cli/exit_code.hpp"
#include "cli/memory_shortage.hpp"
#include "cli/near_match.hpp"
#include "cli/report.hpp"
#include "cli/standard_descriptors.hpp"
#include "cli/verbs.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <vector>

namespace holdfast::cli {

const std::array<verb, 14>& all_verbs() noexcept {
  static constexpr std::array<verb, 14> verbs{{
      {"run", verb_run, "hold a lock and run a command under it"},
      {"elect", verb_elect, "run a command while leading, with a value that others can read"},
      {"leader", verb_leader, "print the value that the leader of an election published"},
      {"ls", verb_ls, "list the locks, their holders and the number of waiters"},
      {"show", verb_show, "print everything about one lock or one session"},
      {"watch", verb_watch, "list what is held, then print every change"},
      {"check", verb_check, "inside `run`: test whether the lease lasts for --for DURATION"},
      {"deny", verb_deny, "refuse a session's heartbeats; its locks end when its ttl has passed"},
      {"break", verb_break, "remove a session that is provably dead on this host"},
      {"fence", verb_fence, "refuse stale tokens at the storage, for scripts"},
      {"redlock", verb_redlock, "set up, inspect or recover the nodes of a redlock:// store"},
      {"verify", verb_verify, "test whether a history of calls is linearizable"},
      {"doctor", verb_doctor, "print the settings and their sources, and diagnose the store"},
      {"version", verb_version, "print the version"},
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
         "\n`holdfast VERB --help` describes a verb; see holdfast(1).\n";
}

const verb* verb_named(const std::string& name) {
  const auto& all = all_verbs();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const verb& v) { return name == v.name; });
  return at == all.end() ? nullptr : &*at;
}

int help(const std::vector<std::string>& words) {
  const verb* about = words.size() > 1 ? verb_named(words[1]) : nullptr;
  return about == nullptr ? print(overview()) : about->run({"--help"});
}

/// What stands where the verb belongs and is none.
std::string not_a_verb(const std::vector<std::string>& words, const cli::words& cut) {
  const std::string& first = words.front();
  if (first.starts_with('-')) {
    for (const std::string& word : cut.ours) {
      if (verb_named(word) == nullptr) continue;
      std::vector<std::string> line{word};
      std::copy_if(words.begin(), words.end(), std::back_inserter(line),
                   [&, left = false](const std::string& w) mutable {
                     const bool moved = !left && w == word;
                     left = left || moved;
                     return !moved;
                   });
      return "options come after the verb: holdfast " + shell_line(line);
    }
    return "no verb before " + as_typed(first);
  }
  std::string text = "unknown verb \"" + as_typed(first) + "\"";
  // Before a command stands a verb with its NAME, or the NAME alone, whatever it is called.
  const bool alone = cut.ours.size() == 1 && cut.command;
  if (const std::string said = borrowed_verb(first); !alone && !said.empty()) return text + said;
  std::vector<std::string> names;
  for (const verb& v : all_verbs()) names.emplace_back(v.name);
  const std::string near = hint(first, names);
  text += near;
  if (near.empty() && cut.command && !cut.command->empty()) {
    text += "; to run a command under a lock of that name: holdfast run " + shell_line(words);
  }
  return text;
}

/// A file that may not grow any more fails like others, and ends no verb half-way. Those that start
/// a command see to that themselves, for it is to have its signals as they were.
void fail_at_the_limit_of_a_file(const verb& v) {
  if (v.run == verb_run || v.run == verb_elect) return;
  sigset_t limit;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  ::sigprocmask(SIG_BLOCK, &limit, nullptr);
}

int dispatch(const std::vector<std::string>& words) {
  const cli::words cut = cut_at_dashes(words);
  const report out(wants_json(cut.ours));
  if (words.empty()) return out.fail(exit_code::usage, "no verb; see holdfast --help");
  const std::string& first = words.front();
  if (first == "--help" || first == "-h" || first == "help") return help(words);
  if (first == "--version" || first == "-V") {
    return verb_version(std::vector<std::string>(out.json() ? 1 : 0, "--json"));
  }
  if (const verb* v = verb_named(first)) {
    fail_at_the_limit_of_a_file(*v);
    return v->run({words.begin() + 1, words.end()});
  }
  return out.fail(exit_code::usage, not_a_verb(words, cut) + "; see holdfast --help");
}

}  // namespace
}  // namespace holdfast::cli

int main(int count, char** values) {
  using namespace holdfast::cli;
  reserve_standard_descriptors();
  bool json{};
  try {
    const std::vector<std::string> given(values + 1, values + count);
    json = wants_json(cut_at_dashes(given).ours);
    end_when_memory_is_short(json);
    return dispatch(given);
  } catch (const std::bad_alloc&) {
    end_short_of_memory();
  } catch (const std::exception& e) {
    return report(json).fail(exit_code::unavailable, std::string("unexpected: ") + e.what());
  }
}
