#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/verbs.hpp"

#include <fmt/core.h>

namespace holdfast::cli {

int verb_break(const std::vector<std::string>& after_verb) {
  arguments app(
      "Remove a session whose processes are provably dead on this host; its locks are free "
      "at once. Refused (75) when it is alive or its life cannot be judged here. A NAME means "
      "every session that holds it.",
      "break");
  common_options common;
  target which;
  which.add_to(app);
  common.add_to(app);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = common.speaker();
  if (const auto code = which.check(out)) return *code;

  auto opened = open_store(common, out);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  store& st = std::get<store>(opened);
  const auto looked = picture_for(which, st, out);
  if (const int* failed = std::get_if<int>(&looked)) return *failed;
  const picture& seen = std::get<picture>(looked);
  int code = 0;
  auto json = json_head(st.url());
  json["broken"] = nlohmann::ordered_json::array();
  std::string text;
  for (const session_id& id : sessions_of(which, seen, out, code)) {
    const auto done = st.break_session(id);
    if (!done) {
      const session_info* s = find_session(seen.all, id);
      const std::string of = s == nullptr ? "" : " of " + who(s->owner);
      code = out.fail(done.error(), fmt::format("session {}{} is not broken", id.str(), of));
      continue;
    }
    text += fmt::format("session {} of {} is removed; its locks are free\n", id.str(), who(*done));
    json["broken"].push_back({{"session", id.str()}});
  }
  // What was done is said also when another session was refused.
  if (code != 0 && text.empty()) return code;
  const int printed = print(common.json ? json_line(json) : text, out);
  return code != 0 ? code : printed;
}

}  // namespace holdfast::cli
