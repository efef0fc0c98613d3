#include "cli/command_line.hpp"
#include "cli/json_output.hpp"
#include "cli/verbs.hpp"

#include <holdfast/version.hpp>

namespace holdfast::cli {

int verb_version(const std::vector<std::string>& after_verb) {
  arguments app("The version of the program and of the library in it.", "version");
  bool json{};
  app.add_flag("--json", json, "JSON for programs; see docs/cli.md");
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  if (!json) return print(std::string("holdfast ") + version() + "\n");
  return print(json_line({{"version", json_version}, {"holdfast", version()}}), report(true));
}

}  // namespace holdfast::cli
