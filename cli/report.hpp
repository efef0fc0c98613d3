#pragma once

#include "cli/exit_code.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/snapshot.hpp>
#include <holdfast/token.hpp>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {

/// Speaks to standard error: one sentence a line, or one JSON object a line.
class report {
 public:
  /// `store_option`: the store that was given by --store, for advice that is meant to be copied.
  explicit report(bool json = false, bool verbose = false, std::string store_option = {})
      : json_(json), verbose_(verbose), store_option_(std::move(store_option)) {}

  bool json() const noexcept { return json_; }
  bool verbose() const noexcept { return verbose_; }

  /// Says why the program ends, and gives `code` back. `done`: what was done before, for programs.
  int fail(int code, const std::string& name, const std::string& text,
           const nlohmann::ordered_json* done = nullptr) const;
  int fail(exit_code code, const std::string& text) const;
  int fail(const error& e, const std::string& what,
           const nlohmann::ordered_json* done = nullptr) const;
  /// An answer that is no failure, told to people alone. Gives `code` back.
  int answer(exit_code code, const std::string& text) const;
  /// Something to know that changes nothing.
  void warn(const std::string& text) const;
  /// Only with --verbose, and only where nobody is kept waiting by it.
  void note(const std::string& text) const;

 private:
  bool json_;
  bool verbose_;
  std::string store_option_;
};

/// Whether standard error takes a line at once. A terminal that was stopped (Ctrl-S) and a full
/// pipe do not, and a program that has got a lock meanwhile would hold it and run nothing.
bool takes_a_line();

/// `text` with each `holdfast redlock ACTION` in it as it has to be typed where the store was named
/// by the option --store alone: with that option, and never with a password. An empty
/// `store_option` changes nothing.
std::string with_store(const std::string& text, const std::string& store_option);

/// Writes to standard output; 69 when that fails (a full disk), said to `out`, else 0.
int print(const std::string& text, const report& out = report());
/// The same for a verb that has changed something by then: says also `what` was done, to programs
/// as `done`, or it would look as if nothing was. So it does where nobody reads standard output.
int print_done(const std::string& text, const std::string& what, const nlohmann::ordered_json& done,
               const report& out);
/// For a program that has nothing to write for a while: ends the program as a write would when
/// nobody reads standard output any more. Nothing where somebody does.
std::optional<int> end_unless_read(const report& out);

/// A character of ASCII that is not shown but moves the cursor, ends a line, or worse.
constexpr bool is_control(unsigned char byte) noexcept { return byte < 0x20 || byte == 0x7F; }

/// Bytes that could move a terminal's cursor or colour, as `\xHH`. UTF-8 text stays.
std::string harmless(std::string_view text);

/// "14:03:59", of the local clock.
std::string time_of_day();
/// The time since then, as rounded(); "less than 1s", or "?" when `since` is not known.
std::string age(wall_time since);
/// "4s ago", or "?".
std::string ago(wall_time since);
/// "250ms", "4s", "2m03s", "5h12m", "3d04h".
std::string rounded(duration d);
/// The same for a bound: never less than `d`.
std::string rounded_up(duration d);

/// "1 lock", "2 locks".
std::string counted(std::size_t n, const char* what);

/// "host:pid program (label)".
std::string who(const owner_info& owner);
/// Of a denied session: "by root@host: stuck".
std::string denial_of(const session_info& s);
/// The same for an entry's owner, and what is to be known of it: that it is dead, or denied.
std::string owner_of(const entry_info& e, const snapshot& all);
/// The token in decimal; "none" on a store that gives none.
std::string token_text(const token& t);
/// How long it lives without a heartbeat; "?" of one whose record is gone.
std::string ttl_text(const session_info& s);
/// How many heartbeats; "?" where the store does not count them.
std::string beats_text(const session_info& s);

/// Aligned columns: the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// Terminal columns that a text takes; wide characters count as one.
std::size_t columns_of(std::string_view text);

}  // namespace holdfast::cli
