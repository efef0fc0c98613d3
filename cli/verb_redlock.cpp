#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/verbs.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/redlock.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

namespace {

using redlock::node_info;
using redlock::overview;

struct typed {
  common_options common;
  std::string action, max_ttl;
  bool other_list{}, yes{};

  /// `only`: the one action that help is asked for, or empty for all.
  void add_to(arguments& app, const std::string& only) {
    if (only.empty()) {
      app.add_option("ACTION", action,
                     "init: set up empty nodes\n"
                     "status: every node, and whether it votes\n"
                     "recover: bring back a store of which a majority lost its state\n"
                     "(details: holdfast redlock ACTION --help)")
          ->required();
    } else {
      app.add_option("ACTION", action, only)->required();
    }
    if (only != "status") {
      app.add_option("--max-ttl", max_ttl,
                     "init, recover: the longest ttl of any lock, 100ms to 1h\n"
                     "(default: that of the nodes, the URL's, or 60s)")
          ->type_name("DURATION");
    }
    if (only.empty() || only == "recover") {
      app.add_flag("--other-list", other_list,
                   "recover: take over nodes of a store with another\n"
                   "list of nodes, which loses them");
      app.add_flag("--yes", yes, "recover: do not ask");
    }
    common.add_to(app);
  }
  bool writes() const { return action == "init" || action == "recover"; }
};

constexpr const char* given_up =
    "`recover` writes new records on every node that answers. It is for a store of which a "
    "majority lost\ntheir records, and with them what they had granted. If all nodes vote it "
    "writes nothing. If a\nmajority votes it is refused (75), unless --max-ttl or --other-list "
    "changes the store: then stop\nall holders first. It gives up:\n"
    "  - mutual exclusion, for locks that are held now: such a lock may be granted again, unless "
    "its\n    ttl has passed since the loss. Wait for max_ttl first, or stop all holders, to be "
    "sure.\n"
    "  - growing tokens, only where a server's clock was set back by more than the store's age.\n";

constexpr const char* about_all =
    "Set up, inspect or recover the nodes of a redlock:// store. After `recover`, locks that are "
    "held now may be granted again: use it only when a majority lost its state. "
    "status: 78 when the store was never set up, 69 when no locks can be granted, 64 when the "
    "servers or the list of nodes are wrong, or the URL's ttl is above max_ttl. recover: 75 where "
    "a majority votes, or a "
    "session has a longer ttl than a shorter --max-ttl.";

/// What the help of one action begins with.
std::string about_action(const std::string& action) {
  if (action == "init") {
    return "Writes the first node record on every node of a redlock:// store; once in the life of "
           "a store (one that lost everything may still have holders: see recover). Every node has "
           "to answer, and none may have a record. 64 when the store is set up already, a server "
           "may not be a node, or the URL's ttl is above the max_ttl that it would write, 69 when "
           "a node cannot be used. Then nothing was written, unless it reports how many nodes "
           "confirmed their record.";
  }
  if (action == "status") {
    return "Every node of a redlock:// store, whether it votes, and why not. 0 when locks can be "
           "granted, 78 when the store was never set up, 69 when too few nodes vote, 64 when the "
           "servers or the list of nodes are wrong, or the URL's ttl is above max_ttl. It grants "
           "nothing, so it does not see whether nodes take writes; doctor does. Like every client "
           "it records on a node that lost its state that the node has to wait, and lets it "
           "rejoin.";
  }
  return std::string(given_up) +
         "A majority has to answer. To change max_ttl, all nodes that answer have to vote, if a "
         "majority does; for a shorter one no node may have the record of a session with a longer "
         "ttl (75). If such a session came while the records were written, it ends with 75 too and "
         "reports that max_ttl is changed now. Unless nothing would be written it shows the nodes "
         "and asks on the terminal; without one it needs --yes (64).";
}

/// The action whose help is asked for; empty when it is that of all, or none.
std::string helped(const std::vector<std::string>& ours) {
  const auto has = [&](const char* word) { return std::ranges::find(ours, word) != ours.end(); };
  if (!has("--help") && !has("-h")) return {};
  for (const char* action : {"init", "status", "recover"}) {
    if (has(action)) return action;
  }
  return {};
}

/// What is wrong with the words; the exit code after a sentence.
std::optional<int> check(const typed& t, const report& out) {
  if (!t.writes() && t.action != "status") {
    return out.fail(exit_code::usage, "redlock: unknown action \"" + as_typed(t.action) +
                                          "\"; it is init, status or recover");
  }
  if (t.yes && t.action != "recover") {
    return out.fail(exit_code::usage,
                    "redlock " + t.action + ": --yes is for recover; nothing else asks");
  }
  if (t.other_list && t.action != "recover") {
    return out.fail(exit_code::usage, "redlock " + t.action +
                                          ": --other-list is for recover, which alone changes "
                                          "the list of a store");
  }
  if (!t.writes() && !t.max_ttl.empty()) {
    return out.fail(exit_code::usage,
                    "redlock status: --max-ttl is for init and recover; status sets nothing");
  }
  return std::nullopt;
}

/// Before the store is looked at: one of another kind need not even be there.
std::optional<int> refuse_others(const settings& s, const report& out) {
  const std::string url = store_url(s);
  const std::string scheme = scheme_of(url);
  if (scheme.empty() || is_redlock(url)) return std::nullopt;
  const error e(errc::invalid_argument,
                "redlock needs --store redlock://HOST,HOST,... or HOLDFAST_STORE; this URL begins "
                "with " +
                    harmless(scheme) + ":");
  return fail_to_open(s, e, {key::store}, out);
}

/// As the nodes' records keep it.
duration recorded(duration max_ttl) {
  return std::chrono::ceil<std::chrono::milliseconds>(max_ttl);
}

bool must_ask(const typed& t) { return t.action == "recover" && !t.yes; }

bool can_ask() { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0; }

/// True where all nodes vote and have that max_ttl already.
bool is_whole(const overview& seen, duration max_ttl) {
  const bool all = std::ranges::all_of(seen.nodes, [&](const node_info& n) {
    return n.votes && (max_ttl == duration::zero() || recorded(max_ttl) == n.max_ttl);
  });
  // A ttl of the URL that is too long is no trouble of the store's.
  return all && (!seen.trouble || *seen.trouble == errc::invalid_argument);
}

/// What `recover` says where it would write nothing: nobody is asked for that. Nothing where it may
/// write.
std::optional<overview> nothing_to_recover(const typed& t, overview seen, duration max_ttl) {
  std::string text;
  if (is_whole(seen, max_ttl)) {
    text = "all nodes vote: there is nothing to recover, and nothing was written";
    if (seen.trouble) text += ". But " + seen.advice;
    seen.trouble.reset();
  } else if (seen.votes >= seen.needed && max_ttl == duration::zero() && !t.other_list) {
    text = fmt::format(
        "{} of {} nodes vote, which is a majority: there is nothing to recover, and nothing was "
        "written. A node that lost its state comes back by itself when its wait is over",
        seen.votes, seen.nodes.size());
    seen.trouble = errc::busy;
  } else {
    return std::nullopt;
  }
  seen.advice = std::move(text);
  return seen;
}

/// Asks on the terminal; the exit code when the answer is not yes.
std::optional<int> confirm(duration max_ttl, const std::string& url, const std::string& state,
                           const report& out) {
  if (!can_ask()) {
    return out.fail(exit_code::usage,
                    "redlock recover: locks that are held now may be granted again, and there is "
                    "no terminal to ask on; read holdfast redlock recover --help, then add --yes");
  }
  const std::string question =
      fmt::format("{}{}\n{} Type yes: ", given_up, state.empty() ? "store " + url + "\n" : state,
                  max_ttl == duration::zero()
                      ? "Recover it?"
                      : "Give it a max_ttl of " + print_duration(recorded(max_ttl)) + "?");
  std::fwrite(question.data(), 1, question.size(), stderr);
  char answer[16]{};
  const char* read = std::fgets(answer, sizeof answer, stdin);
  if (read != nullptr && std::string(answer) == "yes\n") return std::nullopt;
  return out.fail(error(errc::cancelled, "nothing was changed"), "redlock recover");
}

nlohmann::ordered_json json_of(const node_info& n) {
  nlohmann::ordered_json out{{"address", n.address}, {"connected", n.connected},
                             {"votes", n.votes},     {"standing", n.standing},
                             {"version", nullptr},   {"role", nullptr},
                             {"durable", nullptr},   {"record", nullptr}};
  if (!n.connected) return out;
  out["version"] = n.version;
  out["role"] = n.role;
  out["durable"] = n.durable;
  if (!n.recorded) return out;
  out["record"] = {{"id", n.id},
                   {"epoch", n.epoch},
                   {"floor", n.floor},
                   {"max_ttl_s", std::chrono::duration<double>(n.max_ttl).count()}};
  return out;
}

nlohmann::ordered_json json_of(const overview& all, const std::string& store_option) {
  auto json = json_head(all.url);
  json["tokens"] = all.tokens;
  json["votes"] = all.votes;
  json["needed"] = all.needed;
  json["trouble"] = nullptr;
  if (all.trouble) json["trouble"] = name_of(*all.trouble);
  json["advice"] = with_store(all.advice, store_option);
  json["nodes"] = nlohmann::ordered_json::array();
  for (const node_info& n : all.nodes) json["nodes"].push_back(json_of(n));
  return json;
}

std::vector<std::string> row_of(const node_info& n) {
  std::vector<std::string> row{n.address, n.votes ? "yes" : "no"};
  if (n.connected) {
    row.insert(row.end(), {n.version, n.role, n.durable ? "yes" : "no"});
  } else {
    row.insert(row.end(), {"?", "?", "?"});
  }
  if (n.recorded) {
    row.insert(row.end(), {n.id.substr(0, 8), std::to_string(n.epoch), print_duration(n.max_ttl)});
  } else {
    row.insert(row.end(), {"-", "-", "-"});
  }
  row.push_back(n.votes ? "" : harmless(n.standing));
  return row;
}

std::string plain_text(const overview& all) {
  std::string text = fmt::format("store {}: {} of {} nodes vote, needed are {}; tokens are {}\n",
                                 harmless(all.url), all.votes, all.nodes.size(), all.needed,
                                 all.tokens ? "on" : "off");
  std::vector<std::vector<std::string>> rows{
      {"NODE", "VOTES", "REDIS", "ROLE", "SYNCED", "RECORD", "EPOCH", "MAX_TTL", "WHY NOT"}};
  for (const node_info& n : all.nodes) rows.push_back(row_of(n));
  return text + table(rows);
}

/// `may_have_written`: nodes, by then.
int show(const typed& t, const overview& seen, bool may_have_written, const report& out) {
  const auto json = json_of(seen, t.common.store);
  const std::string text = t.common.json ? json_line(json) : plain_text(seen);
  const std::string what =
      fmt::format("redlock {}: {} of {} nodes vote{}{}", t.action, seen.votes, seen.nodes.size(),
                  seen.advice.empty() ? "" : ": ", seen.advice);
  const int printed =
      may_have_written ? print_done(text, what, json["nodes"], out) : print(text, out);
  if (printed == 0 && !seen.trouble && !seen.advice.empty() && !out.json()) {
    out.warn("redlock " + t.action + ": " + seen.advice);
  }
  if (printed != 0 || !seen.trouble) return printed;
  return out.fail(error(*seen.trouble, seen.advice), "store " + harmless(seen.url));
}

/// Has a person agree, who is shown what there is. The exit code where nothing is to be written.
std::optional<int> ask(const typed& t, const std::string& url, duration max_ttl,
                       const report& out) {
  auto seen = redlock::status(url);
  const bool is_seen = seen && seen->tokens && !seen->nodes.empty();
  if (is_seen) {
    if (const auto said = nothing_to_recover(t, *seen, max_ttl)) {
      return show(t, *said, false, out);
    }
  }
  return confirm(max_ttl, harmless(without_password(url)), is_seen ? plain_text(*seen) : "", out);
}

result<overview> carry_out(const typed& t, const std::string& url, duration max_ttl) {
  if (t.action == "init") {
    return redlock::init(url, {.max_ttl = max_ttl});
  }
  if (t.action == "recover") {
    return redlock::recover(url, {.max_ttl = max_ttl, .other_list = t.other_list});
  }
  return redlock::status(url);
}

}  // namespace

int verb_redlock(const std::vector<std::string>& after_verb) {
  const std::string about = helped(cut_at_dashes(after_verb).ours);
  arguments app(about.empty() ? about_all : about_action(about), "redlock");
  typed t;
  t.add_to(app, about);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = t.common.speaker();
  if (const auto code = check(t, out)) return *code;
  duration max_ttl{};
  if (!t.max_ttl.empty()) {
    const auto d = parse_duration(t.max_ttl);
    if (!d) return out.fail(exit_code::usage, "--max-ttl: " + d.error().message());
    if (*d <= duration::zero()) {
      return out.fail(exit_code::usage,
                      "--max-ttl " + as_typed(t.max_ttl) + ": a max_ttl is from 100ms to 1h");
    }
    max_ttl = *d;
  }
  settings s;
  if (const auto code = load_settings(s, t.common, out)) return *code;
  if (const auto code = refuse_others(s, out)) return *code;
  const std::string url = store_url(s);
  if (must_ask(t)) {
    if (const auto code = ask(t, url, max_ttl, out)) return *code;
  }
  const auto seen = carry_out(t, url, max_ttl);
  if (!seen) return fail_to_open(s, seen.error(), {key::store}, out);
  return show(t, *seen, t.writes(), out);
}

}  // namespace holdfast::cli
