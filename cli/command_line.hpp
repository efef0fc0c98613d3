#pragma once

#include "cli/arguments.hpp"
#include "cli/report.hpp"
#include "cli/settings.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/session_id.hpp>
#include <holdfast/snapshot.hpp>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// The words after the verb, cut at the first `--`. We cut before CLI11 sees anything: it would
/// read options of the command as ours (`run a -- b --help`).
struct words {
  std::vector<std::string> ours;
  std::optional<std::vector<std::string>> command;  ///< Nothing when there is no `--`.
};

/// `--json` stands among these words. Asked before they are parsed, so that what is wrong with them
/// is an object too.
bool wants_json(const std::vector<std::string>& ours);

/// A word of the command line for messages: harmless(), and without the password of a URL, which
/// may stand where none belongs. The rest of a URL that is no store's is kept, for it may be a word
/// of the command.
std::string as_typed(std::string_view word);

/// The same as a shell reads it back, for lines that are meant to be typed.
std::string shell_word(std::string_view word);
std::string shell_line(const std::vector<std::string>& words);

words cut_at_dashes(const std::vector<std::string>& after_verb);

/// Options that most verbs share.
struct common_options {
  std::string store;
  bool json{};

  void add_to(arguments& verb);
  /// Says what is said about the store in words that fit these options.
  report speaker(bool verbose = false) const { return report(json, verbose, store); }
};

/// Loads files and environment and puts --store over them; an exit code on a fault. Warns about a
/// password on the command line, which every user of the machine can see in `ps`.
std::optional<int> load_settings(settings& into, const common_options& given, const report& out);

/// The store's URL: what was set, else the embedded store of this machine.
std::string store_url(const settings& s);

/// What stands before the first colon, in small letters; empty when there is none.
std::string scheme_of(std::string_view url);

/// With TLS or without.
bool is_redlock(std::string_view url);

/// The embedded store at its usual place, which need not be there yet.
bool is_default_store(std::string_view url);

/// What is wrong with settings, and the exit code for it: 78 with the place of each of `causes`
/// that a file gave, when the error is about what was set; else by the error.
struct fault {
  int code{};
  std::string name;
  std::string text;
};
fault fault_of(const settings& s, const error& e, std::initializer_list<key> causes,
               const std::string& subject);

/// The value of one setting, wherever it came from, is wrong for `why`.
fault fault_of_value(const settings& s, key which, const std::string& why);

/// A text that no session takes, too long or with control characters; nothing when it fits.
std::optional<fault> fault_of_text(const settings& s, key which);

/// A grace that is too long for the ttl that a run gets; nothing when it fits.
std::optional<fault> fault_of_grace(const settings& s, duration grace, duration ttl);

/// What an open store answered with; says it, with the store's URL once, and gives the exit code.
int fail_in(const std::string& url, const error& e, const report& out);

/// The same for the store that `s` names, which could not be opened.
fault fault_in_opening(const settings& s, const error& e, std::initializer_list<key> causes);
/// Says it and gives the exit code.
int fail_to_open(const settings& s, const error& e, std::initializer_list<key> causes,
                 const report& out);

/// Exit code after a sentence when the store would be this process's alone.
std::optional<int> refuse_memory(const settings& s, const report& out);

/// A NAME or --session ID argument of show, deny and break.
struct target {
  std::string name;
  std::string session;

  void add_to(arguments& verb);
  /// Exactly one of both, and well-formed; else a sentence and 64.
  std::optional<int> check(const report& out) const;
};

/// The value of a duration setting; the error names where it comes from.
result<duration> duration_of(const settings& s, key which);

}  // namespace holdfast::cli
