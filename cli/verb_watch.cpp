#include "cli/changes.hpp"
#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/verbs.hpp"

#include <fmt/core.h>

#include <chrono>

namespace holdfast::cli {

using namespace std::chrono_literals;

namespace {

std::string line_of(const char* what, const lock_name& name, const entry_info& e,
                    const snapshot& all) {
  const session_info* s = find_session(all, e.owner);
  std::string line = fmt::format("{} {:<8}  \"{}\"  {}  {}", time_of_day(), what, name.printable(),
                                 mode_text(e.how), s == nullptr ? e.owner.str() : who(s->owner));
  if (e.granted) line += fmt::format("  token {}", token_text(e.order));
  return line + "\n";
}

int print_first(const std::string& url, const snapshot& all, bool json) {
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
  if (!json) return print(line_of(name_of(c.what), c.name, c.entry, all));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  nlohmann::ordered_json line{{"version", json_version},
                              {"event", name_of(c.what)},
                              {"time", std::chrono::duration<double>(now).count()},
                              {"name", c.name.str()}};
  line.update(json_of(c.entry, all));
  return print(json_line(line), report(true));
}

int follow(store& st, bool json, const report& out) {
  auto before = st.list();
  if (!before) return fail_in(st.url(), before.error(), out);
  warn_of_gaps(st.url(), *before, out);
  if (const int code = print_first(st.url(), *before, json); code != 0) return code;
  while (true) {
    // A session that is taken over by time alone may change the picture without a change record.
    if (const auto changed = st.wait_for_change(1s); !changed) {
      return fail_in(st.url(), changed.error(), out);
    }
    if (const auto code = end_unless_read(out)) return *code;
    auto after = st.list();
    if (!after) return fail_in(st.url(), after.error(), out);
    for (const change& c : changes_between(*before, *after)) {
      const bool left = c.what == change::kind::released || c.what == change::kind::gone;
      if (const int code = print_change(c, left ? *before : *after, json); code != 0) return code;
    }
    before = std::move(after);
  }
}

}  // namespace

int verb_watch(const std::vector<std::string>& after_verb) {
  arguments app("What is held, then every change, until it is interrupted.", "watch");
  common_options common;
  common.add_to(app);
  if (const auto code = parse(app, cut_at_dashes(after_verb))) return *code;
  const report out = common.speaker();
  auto opened = open_store(common, out);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  return follow(std::get<store>(opened), common.json, out);
}

}  // namespace holdfast::cli
