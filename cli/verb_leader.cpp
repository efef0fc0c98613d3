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

int print_json(const std::string& url, const lock_name& name, const std::optional<leader>& who,
               const report& out) {
  auto json = json_head(url);
  json["name"] = name.str();
  json["leader"] = who ? described(*who) : nlohmann::ordered_json();
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

int print_once(const picture& seen, const lock_name& name, const report& out) {
  const auto who = leader_in(seen.all, name);
  if (const std::string why = who ? why_no_value(*who) : ""; !why.empty()) {
    return fail_without_value(seen.url, name, why, out);
  }
  const int written = out.json() ? print_json(seen.url, name, who, out)
                      : who      ? print(harmless(who->value) + "\n")
                                 : 0;
  if (written != 0 || who) return written;
  if (out.json()) return to_int(exit_code::not_obtained);
  return out.fail(exit_code::not_obtained,
                  fmt::format("nobody leads \"{}\" in {}", name.printable(), harmless(seen.url)));
}

std::string line_of(const std::optional<leader>& who) {
  if (!who) return time_of_day() + " nobody leads\n";
  return fmt::format("{} leads: {}  term {}  {}\n", time_of_day(), harmless(who->value),
                     token_text(who->term), holdfast::cli::who(who->owner));
}

int print_now(const std::string& url, const lock_name& name, const std::optional<leader>& who,
              const report& out) {
  if (who && who->term.value == 0) return fail_without_value(url, name, why_no_value(*who), out);
  return out.json() ? print_json(url, name, who, out) : print(line_of(who));
}

int follow(watched_store& st, const lock_name& name, const report& out) {
  std::optional<std::optional<leader>> shown;
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
    auto who = leader_in(*all, name);
    if (!shown || *shown != who) {
      if (const int code = print_now(st.url(), name, who, out); code != 0) return code;
      shown = std::move(who);
    }
    // Not until the store tells a change: on some a session that ends leaves no trace.
    if (const auto end = pause_while_read(all->rest, out)) return *end;
  }
}

}  // namespace

int verb_leader(const std::vector<std::string>& after_verb) {
  arguments app(
      "The value that the leader of the election NAME has published; 75 when nobody leads. "
      "It may be over by the time it is read.",
      "leader");
  common_options common;
  std::string name;
  bool watch{};
  app.add_option("NAME", name, "The election")->required();
  app.add_flag("--watch", watch, "Who leads, then every change, until it is interrupted");
  common.add_to(app);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = common.speaker();
  const lock_name which(name);
  if (const auto good = which.check(); !good) {
    return out.fail(exit_code::usage, good.error().message());
  }
  if (!watch) {
    const auto seen = look_at_store(common, out);
    if (const int* code = std::get_if<int>(&seen)) return *code;
    return print_once(std::get<picture>(seen), which, out);
  }
  auto opened = open_to_watch(common, out);
  if (const int* code = std::get_if<int>(&opened)) return *code;
  return follow(std::get<watched_store>(opened), which, out);
}

}  // namespace holdfast::cli
