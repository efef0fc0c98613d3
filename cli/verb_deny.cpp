#include "cli/end_sessions.hpp"
#include "cli/replace_holder.hpp"
#include "cli/verbs.hpp"

#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace holdfast::cli {

namespace {

std::string operator_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const char* login = std::getenv("SUDO_USER");
  if (login == nullptr) login = std::getenv("LOGNAME");
  const std::string user = login != nullptr ? login : "uid " + std::to_string(::getuid());
  return (user + "@" + host.data()).substr(0, 256);
}

std::string text_of(const session_id& id, const denial& done) {
  return fmt::format("session {} of {} {}; what it holds is free within {}", id.str(),
                     done.owner.host.empty() ? "?" : who(done.owner),
                     done.already ? "had been denied before, nothing was changed" : "is denied",
                     rounded_up(done.free_within));
}

nlohmann::ordered_json json_of(const session_id& id, const denial& done) {
  return {{"session", id.str()},
          {"already", done.already},
          {"free_within_s", std::chrono::duration<double>(done.free_within).count()}};
}

}  // namespace

int verb_deny(const std::vector<std::string>& after_verb) {
  arguments app(
      "Refuse the heartbeats of a session from now on. Nothing is deleted by force: its "
      "locks end when its ttl has run out for everybody, and its command is stopped "
      "before that. A NAME means every session that holds it. With --raise-fence the storage "
      "refuses the session's tokens first, and its locks are free at once.",
      "deny");
  common_options common;
  target which;
  replace_holder replace;
  std::string why = "no reason given";
  which.add_to(app);
  app.add_option("--why", why,
                 "The reason, shown to the denied holder; with --raise-fence\n"
                 "it is in the audit log, and seldom shown")
      ->type_name("TEXT")
      ->may_be_empty();
  replace.add_to(app);
  common.add_to(app);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = common.speaker();
  if (const auto code = which.check(out)) return *code;
  if (const auto code = replace.check(out)) return *code;
  if (!replace.fence.empty()) return replace.run(common, which, operator_name(), why, out);

  const auto end = [&](store& from, const session_id& id,
                       const snapshot&) -> or_exit<ended_session> {
    const auto done = from.deny(id, operator_name(), why);
    if (!done) {
      const error& e = done.error();
      return out.fail(to_int(exit_for(e.code())), name_of(e.code()), harmless(e.message()));
    }
    return ended_session{text_of(id, *done), json_of(id, *done)};
  };
  return end_sessions(which, common, "denied", end, out);
}

}  // namespace holdfast::cli
