#include "cli/changes.hpp"
#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/outage.hpp"
#include "cli/verbs.hpp"

#include <fmt/core.h>

#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::cli {

namespace {

std::string line_of(const char* what, const lock_name& name, const entry_info& e,
                    const snapshot& all) {
  const session_info* s = all.find(e.session);
  std::string line = fmt::format("{} {:<8}  \"{}\"  {}  {}", time_of_day(), what, name.printable(),
                                 e.mode.str(), s == nullptr ? e.session.str() : who(s->owner));
  if (e.granted) line += fmt::format("  token {}", token_text(e.token));
  return line + "\n";
}

int print_snapshot(const std::string& url, const snapshot& all, bool json) {
  if (json) {
    auto head = json_head(url);
    head["event"] = "snapshot";
    head["locks"] = nlohmann::ordered_json::array();
    head["sessions"] = nlohmann::ordered_json::array();
    for (const lock_info& l : all.locks) head["locks"].push_back(json_of(l, all));
    for (const session_info& s : all.sessions) head["sessions"].push_back(json_of(s));
    return print(json_line(head), report(true));
  }
  std::string text =
      fmt::format("store {}: {}\n", harmless(url), counted(all.locks.size(), "lock"));
  for (const lock_info& l : all.locks) {
    for (const entry_info& e : l.entries) {
      text += line_of(e.granted ? "held" : "waiting", l.name, e, all);
    }
  }
  return print(text);
}

int print_change(const change& c, const snapshot& all, bool json) {
  const session_info* denied = c.what == change::kind::denied ? all.find(c.entry.session) : nullptr;
  if (!json) {
    std::string line = line_of(name_of(c.what), c.name, c.entry, all);
    if (denied != nullptr) line.insert(line.size() - 1, "  " + denial_of(*denied));
    return print(line);
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  nlohmann::ordered_json line{{"version", json_version},
                              {"event", name_of(c.what)},
                              {"time", std::chrono::duration<double>(now).count()},
                              {"name", c.name.str()},
                              {"name_hex", name_hex(c.name.str())}};
  line.update(json_of(c.entry, all));
  if (denied != nullptr) {
    line["denied_by"] = denied->denied_by;
    line["denied_why"] = denied->denied_why;
  }
  return print(json_line(line), report(true));
}

int print_changes(const snapshot& before, const snapshot& after, bool json) {
  for (const change& c : changes_between(before, after)) {
    const bool left = c.what == change::kind::released || c.what == change::kind::gone;
    if (const int code = print_change(c, left ? before : after, json); code != 0) return code;
  }
  return 0;
}

int follow(watched_store& st, bool json, const report& out) {
  std::optional<snapshot> before;
  outage away(st.url(), out);
  while (true) {
    auto now = st.list();
    if (!now) {
      if (const auto code = away.wait(now.error(), before.has_value())) return *code;
      continue;
    }
    // Where other things can be seen than before, what is gone may be held.
    const bool anew = away.ends() || !before || before->lacks.empty() != now->lacks.empty();
    if (anew) warn_of_gaps(st.url(), *now, out);
    const int code =
        anew ? print_snapshot(st.url(), *now, json) : print_changes(*before, *now, json);
    if (code != 0) return code;
    before = std::move(*now);
    // To ask whether anything has changed takes as long as to look.
    if (const auto end = pause_while_read(before->rest, out)) return *end;
  }
}

}  // namespace

int verb_watch(const std::vector<std::string>& after_verb) {
  arguments app(
      "The locks that are held, then every change, until interrupted. It looks up to 20 times a "
      "second, and less often in a large store: looks take at most a tenth of the time.",
      "watch");
  common_options common;
  common.add_to(app);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = common.speaker();
  auto opened = open_to_watch(common, out);
  if (!opened) return opened.code();
  return follow(*opened, common.json, out);
}

}  // namespace holdfast::cli
