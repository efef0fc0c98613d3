#include "cli/json_output.hpp"
#include "cli/open_store.hpp"
#include "cli/verbs.hpp"

#include <holdfast/version.hpp>

#include <algorithm>

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
    const std::string value = v.given() ? without_password(v.value) : k.built_in;
    all.push_back({k.name, harmless(value), v.origin_text()});
  }
  return all;
}

int print_json(const settings& s, const std::string& url, const std::vector<finding>& found) {
  auto json = json_head(url);
  for (const shown_setting& v : shown(s)) {
    json["settings"].push_back({{"name", v.name}, {"value", v.value}, {"origin", v.origin}});
  }
  json["findings"] = nlohmann::ordered_json::array();
  for (const finding& f : found) {
    json["findings"].push_back(
        {{"level", holdfast::name_of(f.severity)}, {"subject", f.subject}, {"text", f.text}});
  }
  return print(json_line(json));
}

int print_text(const settings& s, const std::string& url, const std::vector<finding>& found) {
  std::vector<std::vector<std::string>> rows{{"SETTING", "VALUE", "FROM"}};
  for (const shown_setting& v : shown(s)) rows.push_back({v.name, v.value, v.origin});
  std::string text = std::string("holdfast ") + version() + "\nstore " + harmless(url) + "\n\n";
  text += table(rows) + "\n";
  rows = {{"", "LOOKED AT", "SEEN"}};
  for (const finding& f : found) {
    rows.push_back({holdfast::name_of(f.severity), f.subject, harmless(f.text)});
  }
  return print(text + table(rows));
}

}  // namespace

int verb_doctor(const std::vector<std::string>& after_verb) {
  CLI::App app(
      "Settings and where each comes from, and what is wrong with the store and this "
      "machine. Changes nothing. 69 when there is a fault.",
      "doctor");
  common_options common;
  common.add_to(app);
  if (const auto code = parse(app, cut_at_dashes(after_verb))) return *code;
  const report out(common.json);
  settings s;
  if (const auto code = load_settings(s, common, out)) return *code;

  auto opened = store::open(store_url(s));
  if (!opened) {
    if (!common.json) print_text(s, without_password(store_url(s)), {});
    return fail_to_open(s, opened.error(), out);
  }
  const auto found = opened->diagnose();
  if (!found) return out.fail(found.error(), "store " + opened->url());
  const int code =
      common.json ? print_json(s, opened->url(), *found) : print_text(s, opened->url(), *found);
  const bool fault = std::any_of(found->begin(), found->end(), [](const finding& f) {
    return f.severity == finding::level::fault;
  });
  return code == 0 && fault ? to_int(exit_code::unavailable) : code;
}

}  // namespace holdfast::cli
