#include "cli/arguments.hpp"
#include "cli/command_line.hpp"
#include "cli/json_output.hpp"
#include "cli/or_exit.hpp"
#include "cli/verbs.hpp"

#include <holdfast/history.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

namespace holdfast::cli {

namespace {

using history::judgement;
using history::line;
using history::model;
using history::operation;
using history::verdict;

constexpr std::array<std::pair<const char*, model>, 4> models{{
    {"mutex", model::mutex},
    {"fenced-mutex", model::fenced_mutex},
    {"semaphore", model::semaphore},
    {"fenced-register", model::fenced_register},
}};

const char* word_of(verdict v) {
  return v == verdict::linearizable ? "linearizable"
         : v == verdict::violation  ? "violation"
                                    : "undecided";
}

/// The lines, or the exit code after a sentence about what is wrong.
or_exit<std::vector<line>> read(const std::string& path, const report& out) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    // A stream says of a read that failed no more than that it has ended.
    if (std::ferror(stdin) != 0) {
      const std::string why = std::strerror(errno);
      return out.fail(exit_code::usage, "cannot read the history from standard input: " + why);
    }
  } else {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    // A directory opens, and only reading it fails.
    if (!in || (in.peek() != std::ifstream::traits_type::eof() && !(all << in.rdbuf())) ||
        in.bad()) {
      const std::string why = std::strerror(errno);
      return out.fail(exit_code::usage, "cannot read the history " + as_typed(path) + ": " + why);
    }
    text = all.str();
  }
  auto lines = history::parse(text);
  if (lines) return *std::move(lines);
  return out.fail(exit_code::damaged, as_typed(path) + ": " + lines.error().message());
}

verdict worst_of(const std::vector<judgement>& all) {
  verdict worst = verdict::linearizable;
  for (const judgement& j : all) {
    if (j.found == verdict::violation) return j.found;
    if (j.found == verdict::undecided) worst = j.found;
  }
  return worst;
}

std::string seconds(std::int64_t ns) {
  return fmt::format("{:.9f}", static_cast<double>(ns) / 1e9);
}

/// The lines of a conflict as a table, with times from the first call on.
std::string conflict_table(const judgement& j, const std::vector<line>& all) {
  std::vector<std::vector<std::string>> rows{
      {"line", "caller", "operation", "token", "outcome", "called (s)", "returned (s)"}};
  const std::int64_t first = j.conflict.empty() ? 0 : all[j.conflict.front()].invoked;
  for (const std::size_t i : j.conflict) {
    const line& l = all[i];
    std::string what = name_of(l.what);
    if (l.mode.is_shared()) what += " shared";
    if (l.mode.is_permits()) what += fmt::format(" permits:{}", l.mode.limit());
    if (l.value) what += " \"" + harmless(*l.value) + "\"";
    rows.push_back({std::to_string(l.at), l.caller, what,
                    l.token.value == 0 ? "-" : std::to_string(l.token.value), l.outcome,
                    seconds(l.invoked - first),
                    l.returned == 0 ? "never" : seconds(l.returned - first)});
  }
  return table(rows);
}

std::string text_of(const std::vector<judgement>& judged, const std::vector<line>& all) {
  std::string text;
  std::size_t good = 0;
  std::size_t operations = 0;
  for (const judgement& j : judged) {
    operations += j.operations;
    if (j.found == verdict::linearizable) {
      ++good;
      continue;
    }
    text += fmt::format("{} \"{}\" ({}): {}: {}\n",
                        j.as == model::fenced_register ? "storage behind" : "lock",
                        lock_name(j.lock).printable(), name_of(j.as),
                        j.found == verdict::violation ? "not linearizable" : "undecided", j.why);
    if (j.found == verdict::violation) text += conflict_table(j, all);
  }
  return text + fmt::format("{} of {} linearizable, {} in {} lines\n", good,
                            counted(judged.size(), "object"), counted(operations, "operation"),
                            all.size());
}

nlohmann::ordered_json json_of(const judgement& j, const std::vector<line>& all) {
  nlohmann::ordered_json json{{"name", j.lock},
                              {"name_hex", name_hex(j.lock)},
                              {"model", name_of(j.as)},
                              {"verdict", word_of(j.found)},
                              {"operations", j.operations},
                              {"why", nullptr},
                              {"conflict", nlohmann::ordered_json::array()}};
  if (!j.why.empty()) json["why"] = j.why;
  for (const std::size_t i : j.conflict) {
    const line& l = all[i];
    nlohmann::ordered_json one{{"line", l.at},
                               {"operation", name_of(l.what)},
                               {"mode", nullptr},
                               {"caller", l.caller},
                               {"token", nullptr},
                               {"outcome", l.outcome},
                               {"invoked_ns", l.invoked},
                               {"returned_ns", nullptr},
                               {"value", nullptr}};
    // Of all others the lines do not say it.
    const bool has_mode = l.what == operation::acquire || l.what == operation::read;
    if (has_mode) {
      one["mode"] = l.mode.is_permits() ? "permits" : l.mode.is_shared() ? "shared" : "exclusive";
      if (l.mode.is_permits()) one["permits"] = l.mode.limit();
    }
    if (l.token.value != 0) one["token"] = l.token.value;
    if (l.returned != 0) one["returned_ns"] = l.returned;
    if (l.value) one["value"] = *l.value;
    json["conflict"].push_back(std::move(one));
  }
  return json;
}

int tell(const std::vector<judgement>& judged, const std::vector<line>& all, const report& out) {
  const verdict worst = worst_of(judged);
  int written = 0;
  if (out.json()) {
    std::size_t operations = 0;
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const judgement& j : judged) {
      operations += j.operations;
      names.push_back(json_of(j, all));
    }
    written = print(json_line({{"version", json_version},
                               {"verdict", word_of(worst)},
                               {"operations", operations},
                               {"names", names}}),
                    out);
  } else {
    written = print(text_of(judged, all), out);
  }
  if (written != 0 || worst == verdict::linearizable) return written;
  return to_int(worst == verdict::violation ? exit_code::violation : exit_code::undecided);
}

/// Zero, or the exit code after a sentence about what is wrong.
int read_options(const std::string& model_word, const std::string& memory,
                 history::judge_options& into, const report& out) {
  if (!model_word.empty()) {
    const auto known = std::find_if(models.begin(), models.end(),
                                    [&](const auto& m) { return model_word == m.first; });
    if (known == models.end()) {
      return out.fail(exit_code::usage, "--model " + as_typed(model_word) +
                                            " is not mutex, fenced-mutex, semaphore or "
                                            "fenced-register");
    }
    into.as = known->second;
  }
  if (!memory.empty()) {
    const auto end = memory.data() + memory.size();
    std::size_t mib = 0;
    const auto read = std::from_chars(memory.data(), end, mib);
    if (read.ec != std::errc() || read.ptr != end || mib == 0 || mib > 1'000'000) {
      return out.fail(exit_code::usage,
                      "--memory " + as_typed(memory) + " is no number of MiB from 1 to 1000000");
    }
    into.memory_max = mib << 20;
  }
  return 0;
}

}  // namespace

int verb_verify(const std::vector<std::string>& after_verb) {
  arguments app(
      "Tests whether all operations that a history records can have happened one after the other "
      "(linearizability). 0 when they can, 1 when they cannot, 2 when it could not be decided. The "
      "format: docs/history-format.md.",
      "verify");
  std::string path, model_word, memory;
  bool json{};
  app.add_option("HISTORY", path, "The file, or - for standard input")->required();
  app.add_option(
      "--model", model_word,
      "mutex, fenced-mutex, semaphore or fenced-register\n(default: by what the lines show)");
  app.add_option("--memory", memory, "Limit for the states of each name (default: 256)")
      ->type_name("MIB");
  app.add_flag("--json", json, "JSON for programs; see docs/cli.md");
  if (const auto code = parse(app, {after_verb, std::nullopt})) return *code;
  const report out(json);
  history::judge_options options;
  if (const int failed = read_options(model_word, memory, options, out); failed != 0) return failed;
  const auto lines = read(path, out);
  if (!lines) return lines.code();
  return tell(history::judge(*lines, options), *lines, out);
}

}  // namespace holdfast::cli
