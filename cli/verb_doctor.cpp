#include "cli/json_output.hpp"
#include "cli/lease_page.hpp"
#include "cli/open_store.hpp"
#include "cli/verbs.hpp"

#include <holdfast/duration.hpp>
#include <holdfast/session.hpp>
#include <holdfast/version.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace holdfast::cli {

namespace {

struct shown_setting {
  std::string name;
  std::string value;
  std::string origin;
};

std::vector<shown_setting> shown(const settings& s) {
  std::vector<shown_setting> all;
  for (const key_info& k : all_keys()) {
    const setting& v = s[k.which];
    const bool is_url = k.which == key::store;
    const std::string value = !v.given() ? k.built_in
                              : is_url   ? without_password(v.value)
                                         : v.value;
    all.push_back({k.name, is_url ? harmless(value) : as_typed(value), v.origin_text()});
  }
  return all;
}

struct diagnosis {
  std::string url;
  std::vector<finding> found;
  int code{};
  std::optional<duration> ttl{};  ///< What a run gets, where that was asked.
};

/// What every run refuses; the store's own fault comes first.
void add_fault(diagnosis& d, const char* subject, const fault& f) {
  d.found.push_back({severity::fault, subject, f.text});
  if (d.code == 0) d.code = f.code;
}

/// Of a setting that is given. One that is no duration is another finding.
std::optional<duration> given_duration(const settings& s, key which) {
  if (!s[which].given()) return std::nullopt;
  const auto read = duration_of(s, which);
  return read ? std::optional(*read) : std::nullopt;
}

/// A ttl of the settings that may be one of a session.
std::optional<duration> intended_ttl(const settings& s) {
  const auto ttl = given_duration(s, key::ttl);
  return ttl > duration::zero() ? ttl : std::nullopt;
}

finding not_there_yet(const presence& seen) {
  if (seen.obstacle.empty()) {
    return {severity::good, "store", "not there yet; the first holdfast run creates it"};
  }
  return {severity::fault, "store",
          "not there yet, and could not be created: " + seen.obstacle +
              ". Choose another with --store"};
}

/// As a run does.
std::function<duration(duration)> stop_distance_of(const settings& s) {
  return [grace = given_duration(s, key::grace)](duration ttl) {
    return stop_distance(ttl, grace.value_or(grace_default(ttl)));
  };
}

/// With the ttl of the settings, where one is given. Only where locks work as far as can be seen;
/// that the servers take what a session writes is seen here.
void add_advice(diagnosis& d, store& st, const settings& s) {
  const auto intended = intended_ttl(s);
  auto advice = st.advise_ttl(intended, stop_distance_of(s));
  if (advice) {
    if (advice->severity == severity::fault) {
      // As every run with it: what names the ttl is wrong, and not the store.
      const error as_run(errc::invalid_argument, advice->text);
      d.code = fault_of(s, as_run, {intended ? key::ttl : key::store}, advice->subject).code;
    }
    d.found.push_back(std::move(*advice));
    if (d.code != 0 || !s[key::grace].given()) return;
    if (auto own = st.open_session({.ttl = intended, .label = "asks for its ttl"})) {
      d.ttl = own->ttl();
      static_cast<void>(own->close());
    }
    return;
  }
  d.code = fault_of(s, advice.error(), {key::store}, "store").code;
  d.found.push_back({severity::fault, "session",
                     "none can be kept, and without one no lock: " + advice.error().message()});
}

/// How long a run's session lives, as far as that is known; 30 s where nobody says.
duration ttl_of_runs(const diagnosis& d, const settings& s) {
  if (d.ttl) return *d.ttl;
  if (const auto intended = intended_ttl(s)) return *intended;
  const std::string url = store_url(s);
  const bool names_one = url.find("?ttl=") != url.npos || url.find("&ttl=") != url.npos;
  return names_one ? forever : std::chrono::seconds{30};
}

void add_grace(diagnosis& d, const settings& s) {
  const auto grace = given_duration(s, key::grace);
  if (!grace) return;
  if (const auto f = fault_of_grace(s, *grace, ttl_of_runs(d, s))) add_fault(d, "grace", *f);
}

/// A text or a ttl that no session may have.
void add_session_settings(diagnosis& d, const settings& s) {
  if (const auto ttl = given_duration(s, key::ttl); ttl && !intended_ttl(s)) {
    add_fault(d, "ttl",
              fault_of_value(s, key::ttl, "no session has a ttl of " + print_duration(*ttl)));
  }
  if (const auto f = fault_of_text(s, key::label)) add_fault(d, "label", *f);
  if (const auto f = fault_of_text(s, key::instance)) add_fault(d, "instance", *f);
}

/// A setting that every run refuses. A duration that is none makes its whole file one that is
/// refused, with the place.
void add_settings(diagnosis& d, const settings& s) {
  if (!s.hidden().empty()) {
    d.found.push_back({severity::warning, "settings",
                       s.hidden() + ". Set HOME to that of this user, or XDG_CONFIG_HOME"});
  }
  for (const auto& [which, name] :
       {std::pair(key::ttl, "ttl"), std::pair(key::grace, "grace"), std::pair(key::wait, "wait")}) {
    if (!s[which].given()) continue;
    const auto read = duration_of(s, which);
    if (read) continue;
    add_fault(d, name, {to_int(exit_code::usage), {}, read.error().message()});
  }
  add_session_settings(d, s);
  add_grace(d, s);
}

/// What the other verbs answer on a store that was opened and has a fault: findings have no code.
int code_of_fault(store& st, const settings& s) {
  const auto code_of = [&](const error& e) { return fault_of(s, e, {key::store}, "store").code; };
  if (const auto all = st.list(); !all) return code_of(all.error());
  // What keeps sessions out need not hinder a look.
  if (const auto kept = st.advise_ttl({}); !kept) return code_of(kept.error());
  return to_int(exit_code::unavailable);
}

/// A store that cannot be looked at is a finding like others: the rest is looked at all the same.
diagnosis examine(const settings& s) {
  diagnosis d{without_password(store_url(s)), {}, 0};
  auto opened = store::open(store_url(s), missing::refuse);
  auto found = opened ? opened->diagnose() : result<std::vector<finding>>(opened.error());
  if (found) {
    d.url = opened->url();
    d.found = std::move(*found);
    const bool bad = std::any_of(d.found.begin(), d.found.end(),
                                 [](const finding& f) { return f.severity == severity::fault; });
    if (bad) {
      d.code = code_of_fault(*opened, s);
    } else {
      add_advice(d, *opened, s);
    }
    return d;
  }
  const auto seen = store::find(store_url(s));
  if (seen) d.url = seen->url;
  if (seen && !seen->there && is_default_store(store_url(s))) {
    d.found.push_back(not_there_yet(*seen));
    if (!seen->obstacle.empty()) d.code = to_int(exit_code::unavailable);
  } else {
    const fault f = fault_of(s, found.error(), {key::store}, name_of(found.error().code()));
    d.found.push_back({severity::fault, "store", f.text});
    d.code = f.code;
  }
  for (finding& f : diagnose_machine()) d.found.push_back(std::move(f));
  return d;
}

nlohmann::ordered_json finding_json(const finding& f) {
  constexpr double exact = 9'007'199'254'740'992;  // 2^53
  auto numbers = nlohmann::ordered_json::object();
  for (const figure& n : f.figures) {
    const bool whole = std::abs(n.value) <= exact && std::trunc(n.value) == n.value;
    if (whole && !n.name.ends_with("_s")) {
      numbers[n.name] = static_cast<std::int64_t>(n.value);
    } else {
      numbers[n.name] = n.value;
    }
  }
  return {{"level", holdfast::name_of(f.severity)},
          {"subject", f.subject},
          {"text", f.text},
          {"numbers", numbers}};
}

int print_json(const settings& s, const diagnosis& d) {
  auto json = json_head(d.url);
  for (const shown_setting& v : shown(s)) {
    json["settings"].push_back({{"name", v.name}, {"value", v.value}, {"origin", v.origin}});
  }
  json["findings"] = nlohmann::ordered_json::array();
  for (const finding& f : d.found) json["findings"].push_back(finding_json(f));
  return print(json_line(json), report(true));
}

int print_text(const settings& s, const diagnosis& d) {
  std::vector<std::vector<std::string>> rows{{"SETTING", "VALUE", "FROM"}};
  for (const shown_setting& v : shown(s)) rows.push_back({v.name, v.value, v.origin});
  std::string text = std::string("holdfast ") + version() + "\nstore " + harmless(d.url) + "\n\n";
  text += table(rows) + "\n";
  rows = {{"", "LOOKED AT", "SEEN"}};
  for (const finding& f : d.found) {
    rows.push_back({holdfast::name_of(f.severity), f.subject, harmless(f.text)});
  }
  return print(text + table(rows));
}

}  // namespace

int verb_doctor(const std::vector<std::string>& after_verb) {
  arguments app(
      "The settings and the source of each, and what is wrong with the store and this "
      "machine. Changes nothing in a store that exists (on servers an empty one is made by "
      "looking at it); opens a session for a moment to measure heartbeats. 65 when the "
      "store is damaged, 64 or 78 when its URL or a setting is wrong, 69 when there is "
      "another fault.",
      "doctor");
  common_options common;
  common.add_to(app);
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out = common.speaker();
  settings s;
  if (const auto code = load_settings(s, common, out)) return *code;
  diagnosis d = examine(s);
  add_settings(d, s);
  for (finding& f : d.found) f.text = with_store(f.text, common.store);
  const int printed = common.json ? print_json(s, d) : print_text(s, d);
  return printed != 0 ? printed : d.code;
}

}  // namespace holdfast::cli
