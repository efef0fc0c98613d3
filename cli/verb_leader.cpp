#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/outage.hpp"
#include "cli/verbs.hpp"

#include <holdfast/election.hpp>

#include <fmt/core.h>

#include <utility>

namespace holdfast::cli {

namespace {

nlohmann::ordered_json described(const leader& l) {
  nlohmann::ordered_json json{{"session", l.session.str()}, {"value", l.value}, {"term", nullptr}};
  if (l.term.value != 0) json["term"] = l.term.value;
  json["owner"] = json_of(l.owner);
  return json;
}

/// The leader, as far as it can be seen.
struct sight {
  std::optional<leader> who;
  std::string lacks;  ///< Of the snapshot: why there may be a leader that is not in it.

  explicit sight(const snapshot& all, const lock_name& name)
      : who(leader_in(all, name)), lacks(all.lacks) {}
  bool may_hide() const noexcept { return !who && !lacks.empty(); }
  /// Nothing is to be said that was not said for `before`.
  bool tells_the_same(const sight& before) const {
    return who == before.who && may_hide() == before.may_hide();
  }
};

int print_json(const std::string& url, const lock_name& name, const sight& seen,
               const report& out) {
  auto json = json_head(url);
  json["name"] = name.str();
  json["leader"] = seen.who ? described(*seen.who) : nlohmann::ordered_json();
  json["lacks"] =
      seen.lacks.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(seen.lacks);
  return print(json_line(json), out);
}

/// Why there is a holder and no value; empty when there is one. A script that reads an empty line
/// would take it for an address.
std::string why_no_value(const leader& l) {
  if (l.term.value == 0) {
    return "who holds it has no token, and so publishes nothing: tokens=off, or another Redlock "
           "client's lock of that name";
  }
  if (!l.value.empty()) return "";
  return "who holds it publishes nothing: " + who(l.owner) +
         " has no value to tell, as `elect --value` and `run --label` give one";
}

int fail_without_value(const std::string& url, const lock_name& name, const std::string& why,
                       const report& out) {
  return out.fail(error(errc::unsupported, why),
                  fmt::format("leader \"{}\" in {}", name.printable(), harmless(url)));
}

int print_once(const picture& at, const lock_name& name, const report& out) {
  const sight seen(at.all, name);
  const std::string of = fmt::format("\"{}\" in {}", name.printable(), harmless(at.url));
  // No answer: what acts when nobody leads would do so beside a leader.
  if (seen.may_hide()) {
    return out.fail(exit_code::unavailable,
                    "nobody is seen to lead " + of + ", and not all locks are seen: " + seen.lacks);
  }
  if (const std::string why = seen.who ? why_no_value(*seen.who) : ""; !why.empty()) {
    return fail_without_value(at.url, name, why, out);
  }
  const int written = out.json() ? print_json(at.url, name, seen, out)
                      : seen.who ? print(harmless(seen.who->value) + "\n")
                                 : 0;
  if (written != 0 || seen.who) return written;
  return out.answer(exit_code::not_obtained, "nobody leads " + of);
}

std::string line_of(const sight& seen) {
  if (seen.may_hide()) return time_of_day() + " nobody is seen to lead\n";
  if (!seen.who) return time_of_day() + " nobody leads\n";
  return fmt::format("{} leads: {}  term {}  {}\n", time_of_day(), harmless(seen.who->value),
                     token_text(seen.who->term), who(seen.who->owner));
}

int print_now(const std::string& url, const lock_name& name, const sight& seen, const report& out) {
  if (seen.who && seen.who->term.value == 0) {
    return fail_without_value(url, name, why_no_value(*seen.who), out);
  }
  return out.json() ? print_json(url, name, seen, out) : print(line_of(seen));
}

int follow(watched_store& st, const lock_name& name, const report& out) {
  std::optional<sight> shown;
  bool lacked = false;
  outage away(st.url(), out);
  while (true) {
    const auto all = st.list();
    if (!all) {
      if (const auto code = away.wait(all.error(), shown.has_value())) return *code;
      continue;
    }
    if (away.ends()) shown.reset();
    if (!lacked) warn_of_gaps(st.url(), *all, out);
    lacked = !all->lacks.empty();
    sight seen(*all, name);
    if (!shown || !seen.tells_the_same(*shown)) {
      if (const int code = print_now(st.url(), name, seen, out); code != 0) return code;
      shown = std::move(seen);
    }
    // Not until the store shows a change: on some a session that ends leaves no trace.
    if (const auto end = pause_while_read(all->rest, out)) return *end;
  }
}

}  // namespace

int verb_leader(const std::vector<std::string>& after_verb) {
  arguments app(
      "The value that the leader of the election NAME has published; 75 when nobody leads, 69 when "
      "none is seen and locks may be hidden. It may be out of date when it is read.",
      "leader");
  common_options common;
  std::string name;
  bool watch{};
  app.add_option("NAME", name, "The election")->required();
  app.add_flag("--watch", watch, "Print the leader, then every change, until interrupted");
  common.add_to(app);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = common.speaker();
  const lock_name which(name);
  if (const auto good = which.check(); !good) {
    return out.fail(exit_code::usage, good.error().message());
  }
  if (!watch) {
    const auto seen = look_at_store(common, out);
    if (!seen) return seen.code();
    return print_once(*seen, which, out);
  }
  auto opened = open_to_watch(common, out);
  if (!opened) return opened.code();
  return follow(*opened, which, out);
}

}  // namespace holdfast::cli
