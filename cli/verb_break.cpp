#include "cli/end_sessions.hpp"
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

  const auto end = [&](store& from, const session_id& id,
                       const snapshot& seen) -> or_exit<ended_session> {
    const auto done = from.break_session(id);
    if (!done) {
      const session_info* s = seen.find(id);
      const std::string of = s == nullptr ? "" : " of " + who(s->owner);
      return out.fail(done.error(), fmt::format("session {}{} is not broken", id.str(), of));
    }
    return ended_session{
        fmt::format("session {} of {} is removed; its locks are free", id.str(), who(*done)),
        {{"session", id.str()}}};
  };
  return end_sessions(which, common, "broken", end, out);
}

}  // namespace holdfast::cli
