#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/verbs.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

namespace holdfast::cli {

namespace {

/// `shows_waiters`: the store keeps what waits.
std::string locks_text(const snapshot& all, bool shows_waiters) {
  std::vector<std::vector<std::string>> rows{
      {"NAME", "MODE", "TOKEN", "HOLDER", "ASKED", "WAITERS"}};
  for (const lock_info& l : all.locks) {
    const auto waiting = std::count_if(l.entries.begin(), l.entries.end(),
                                       [](const entry_info& e) { return !e.granted; });
    const std::string waiters = shows_waiters ? std::to_string(waiting) : "?";
    bool first = true;
    for (const entry_info& e : l.entries) {
      if (!e.granted) continue;
      rows.push_back({first ? l.name.printable() : "", e.mode.str(), token_text(e.token),
                      owner_of(e, all), ago(e.since), first ? waiters : ""});
      first = false;
    }
    if (first) rows.push_back({l.name.printable(), "-", "-", "-", "-", waiters});
  }
  return rows.size() == 1 ? "" : table(rows);
}

std::string sessions_text(const snapshot& all) {
  std::vector<std::vector<std::string>> rows{
      {"SESSION", "OWNER", "TTL", "OPENED", "BEATS", "LOCKS", "LIFE"}};
  for (const session_info& s : all.sessions) {
    rows.push_back({s.id.str(), who(s.owner), ttl_text(s), age(s.opened), beats_text(s),
                    std::to_string(s.locks),
                    s.denied ? std::string(name_of(s.life)) + ", denied" : name_of(s.life)});
  }
  return rows.size() == 1 ? "" : table(rows);
}

std::string json_text(const std::string& url, const snapshot& all, bool sessions) {
  auto out = json_head(url);
  auto list = nlohmann::ordered_json::array();
  if (sessions) {
    for (const session_info& s : all.sessions) list.push_back(json_of(s));
  } else {
    for (const lock_info& l : all.locks) list.push_back(json_of(l, all));
  }
  out[sessions ? "sessions" : "locks"] = list;
  return json_line(out);
}

}  // namespace

int verb_ls(const std::vector<std::string>& after_verb) {
  arguments app(
      "The locks of the store: holder, when the holder arrived, and the number of waiters.", "ls");
  common_options common;
  bool sessions{};
  bool names{};
  common.add_to(app);
  auto* by_session = app.add_flag("--sessions", sessions, "List sessions instead of locks");
  app.add_flag("--names", names,
               "List only the names, one per line; unescaped\n"
               "unless on a terminal")
      ->excludes(by_session);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = common.speaker();

  const auto seen = look_at_store(common, out);
  if (!seen) return seen.code();
  const auto& [url, all] = *seen;
  if (names) {
    std::string text;
    const bool for_people = ::isatty(STDOUT_FILENO) == 1;
    for (const lock_info& l : all.locks) {
      text += (for_people ? l.name.printable() : l.name.str()) + "\n";
    }
    return print(text, out);
  }
  if (common.json) return print(json_text(url, all, sessions), out);
  const std::string head =
      fmt::format("store {}: {}, {}\n", harmless(url), counted(all.locks.size(), "lock"),
                  counted(all.sessions.size(), "session"));
  return print(head + (sessions ? sessions_text(all) : locks_text(all, !is_redlock(url))), out);
}

}  // namespace holdfast::cli
