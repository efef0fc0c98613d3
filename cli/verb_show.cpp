#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/verbs.hpp"

#include <fmt/core.h>

namespace holdfast::cli {

namespace {

std::string session_text(const session_info& s) {
  const std::string beats = s.beats ? fmt::format(", {} heartbeats", *s.beats) : "";
  std::string text = fmt::format(
      "session   {}\nowner     {}\nttl       {}\nopened    {}{}\nlocks     {}\n"
      "life      {}\n",
      s.id.str(), who(s.owner), ttl_text(s), ago(s.opened), beats, s.locks, name_of(s.life));
  if (s.denied) {
    text += fmt::format("denied    {}\n", denial_of(s));
  }
  return text;
}

std::string lock_text(const lock_info& l, const snapshot& all) {
  std::string text = fmt::format("lock \"{}\"\n", l.name.printable());
  std::vector<std::vector<std::string>> rows{
      {"", "STATE", "MODE", "TOKEN", "OWNER", "ASKED", "SESSION"}};
  int place = 0;
  for (const entry_info& e : l.entries) {
    rows.push_back({std::to_string(++place), e.granted ? "held" : "waiting", e.mode.str(),
                    e.granted ? token_text(e.token) : "-", owner_of(e, all), ago(e.since),
                    e.session.str()});
  }
  return text + table(rows);
}

int show_session(const std::string& url, const snapshot& all, const session_id& id,
                 const report& out) {
  const session_info* s = all.find(id);
  if (s == nullptr) {
    return out.fail(exit_code::usage, "no session " + id.str() + " in " + harmless(url));
  }
  if (!out.json()) return print(session_text(*s), out);
  auto json = json_head(url);
  json.update(json_of(*s));
  return print(json_line(json), out);
}

int show_lock(const std::string& url, const snapshot& all, const std::string& name,
              const report& out) {
  const lock_info* found = all.find(lock_name(name));
  const lock_info l = found != nullptr ? *found : lock_info{lock_name(name), {}};
  if (out.json()) {
    auto json = json_head(url);
    json.update(json_of(l, all));
    return print(json_line(json), out);
  }
  if (found == nullptr && is_redlock(url)) {
    // The key may be there: another program's, of whatever form.
    return print(
        fmt::format("lock \"{}\": no session of holdfast has it in {}; what other programs "
                    "keep under that name is not shown\n",
                    l.name.printable(), harmless(url)));
  }
  if (found == nullptr) {
    return print(fmt::format("lock \"{}\" is free in {}\n", l.name.printable(), harmless(url)));
  }
  return print(lock_text(l, all));
}

}  // namespace

int verb_show(const std::vector<std::string>& after_verb) {
  arguments app("Everything about one lock, or about one session.", "show");
  common_options common;
  target which;
  which.add_to(app);
  common.add_to(app);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = common.speaker();
  if (const auto code = which.check(out)) return *code;

  const auto seen = look_at_store(common, out);
  if (!seen) return seen.code();
  const auto& [url, all] = *seen;
  if (!which.session.empty()) {
    return show_session(url, all, *session_id::parse(which.session), out);
  }
  return show_lock(url, all, which.name, out);
}

}  // namespace holdfast::cli
